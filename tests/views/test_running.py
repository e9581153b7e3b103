"""How `jobmon status` and `jobmon show` say how far a job is."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.running import job_progress, progress_rows
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.progress.model import JobProgress, TaskProgress
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import NOW_S, job_of
from tests.support.live_jobs import progress_of, running_task

STALLED = Event(NOW_S - 60, EventKind.STALLED, "no progress for 12m")


def status_of(job: WatchedJob) -> JobStatus:
    return JobStatus(job, Health.ALIVE, None)


def running(*keys: str) -> JobStatus:
    return status_of(replace(job_of(), tasks={key: running_task(key) for key in keys}))


def text(progress: TaskProgress, *events: Event) -> str:
    return job_progress(running(""), JobProgress(NOW_S, {"": progress}, events), NOW_S)


def test_a_running_job_shows_its_share_and_the_time_left() -> None:
    assert text(progress_of(67_300, 100_000)).startswith("67.3%, 1h 1")
    assert text(progress_of(67_300, 100_000)).endswith(" left")


def test_without_a_total_there_is_a_count() -> None:
    assert text(progress_of(1700, None)) == "1,700 steps"


def test_a_stalled_job_says_so_and_names_no_time() -> None:
    assert text(progress_of(67_300, 100_000), STALLED) == "stalled, 67.3%"


def test_several_tasks_show_the_range_of_their_shares() -> None:
    tasks = {"1": progress_of(20, 100), "2": progress_of(90, 100), "3": TaskProgress()}
    assert job_progress(running("1", "2", "3"), JobProgress(NOW_S, tasks), NOW_S) == "20.0% to 90.0%"


def test_a_job_whose_logs_show_nothing_says_nothing() -> None:
    assert text(TaskProgress()) == ""
    assert job_progress(running(""), None, NOW_S) == ""


def test_the_rows_of_show_name_the_end_the_speed_and_what_happened() -> None:
    followed = progress_of(67_300, 100_000)
    assert followed.progress is not None
    followed = replace(followed, progress=replace(followed.progress, epoch=2.0, epochs=3.0))
    (live,) = live_tasks(running(""), JobProgress(NOW_S, {"": followed}, (STALLED,)), NOW_S)
    rows = dict(progress_rows(live, NOW_S))
    assert rows["progress"] == "67.3% (67,300/100,000 steps), epoch 2 of 3"
    assert rows["ETA"] == "not known while it makes no progress"
    assert "average" in rows["speed"]
    assert rows["loss"] == "0.35"
    assert rows["events"].endswith("no progress for 12m")


def test_a_job_that_has_written_nothing_says_so_in_status_and_show() -> None:
    event = Event(NOW_S - 60, EventKind.NO_OUTPUT, "started 5m 00s ago, but has written nothing to its logs")
    assert text(TaskProgress(), event) == "no output"
    (live,) = live_tasks(running(""), JobProgress(NOW_S, {"": TaskProgress()}, (event,)), NOW_S)
    assert dict(progress_rows(live, NOW_S))["events"].endswith(event.text)
