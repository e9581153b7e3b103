"""How `jobmon status` and `jobmon show` say how far a job is."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.running import array_rows, job_progress, progress_rows
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import WorkerProgress
from jobmon_core.lifecycle.health import Health, JobStatus
from tests.support.job_records import NOW_S, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task

STALLED = Event(NOW_S - 60, EventKind.STALLED, "no progress for 12m")


def status_of(job: WatchedJob) -> JobStatus:
    return JobStatus(job, Health.ALIVE, None)


def running(*keys: str) -> JobStatus:
    return status_of(replace(job_of(), tasks={key: running_task(key) for key in keys}))


def text(progress: FollowedTask, *events: Event) -> str:
    return job_progress(running(""), JobProgress(NOW_S, {"": progress}, events), NOW_S)


def of_array(tasks: dict[str, FollowedTask], *events: Event) -> str:
    return job_progress(running(*tasks), JobProgress(NOW_S, tasks, events), NOW_S)


def test_a_running_job_shows_its_share_and_the_time_left() -> None:
    assert text(progress_of(67_300, 100_000)).startswith("67.3%, 1h 1")
    assert text(progress_of(67_300, 100_000)).endswith(" left")


def test_without_a_total_there_is_a_count() -> None:
    assert text(progress_of(1700, None)) == "1,700 steps"


def test_a_stalled_job_says_so_and_names_no_time() -> None:
    assert text(progress_of(67_300, 100_000), STALLED) == "stalled, 67.3%"


def test_a_job_that_will_reach_its_time_limit_has_not_reached_it_yet() -> None:
    too_late = Event(NOW_S - 60, EventKind.TIME_LIMIT, "will end 2h after its limit")
    assert text(progress_of(6_400, 100_000), too_late).startswith("will time out, 6.4%, ")


def test_a_job_beyond_its_time_limit_has_no_time_left() -> None:
    status = running("")
    over = replace(running_task(""), start_s=int(NOW_S) - 70, limit_s=60)
    status = replace(status, job=replace(status.job, tasks={"": over}))
    progress = JobProgress(NOW_S, {"": progress_of(6_400, 100_000)})
    assert job_progress(status, progress, NOW_S) == "6.4%, time limit reached"


def test_a_job_of_which_one_worker_has_written_nothing_has_output() -> None:
    settings = JobSettings(log_dir="/logs", log_pattern="worker_*.log", num_workers=4)
    missing = Event(NOW_S - 60, EventKind.NO_OUTPUT, "only 3 of 4 workers have written a log")
    workers = {f"worker_{number}.log": WorkerProgress() for number in range(3)}
    followed = replace(progress_of(36_700, 100_000), workers=workers)
    status = running("")
    status = replace(status, job=replace(status.job, settings=settings))
    said = job_progress(status, JobProgress(NOW_S, {"": followed}, (missing,)), NOW_S)
    assert said.startswith("1 of 4 workers without a log, 36.7%, ")


def test_several_tasks_show_the_range_of_their_shares() -> None:
    tasks = {"1": progress_of(20, 100), "2": progress_of(90, 100), "3": FollowedTask()}
    assert job_progress(running("1", "2", "3"), JobProgress(NOW_S, tasks), NOW_S) == "20% to 90%"


def test_the_problems_of_several_tasks_are_counted_before_the_range() -> None:
    tasks = {"1": progress_of(7, 100), "2": progress_of(67, 100), "3": progress_of(20, 100)}
    events = [replace(STALLED, task="1")]
    assert of_array(tasks, *events) == "1 stalled, 7% to 67%"
    events += [Event(NOW_S - 60, EventKind.TIME_LIMIT, "too late", key) for key in ("1", "2")]
    events.append(Event(NOW_S - 60, EventKind.NO_OUTPUT, "has written nothing", "3"))
    assert of_array(tasks, *events) == "1 stalled, 1 with missing output, 2 will time out, 7% to 67%"


def test_what_is_about_one_task_of_an_array_begins_with_its_id() -> None:
    one_known = {"1": FollowedTask(), "2": progress_of(67_300, 100_000), "3": FollowedTask()}
    assert of_array(one_known).startswith("12_2: 67.3%, 1h 1")
    assert of_array(one_known, replace(STALLED, task="2")) == "12_2: stalled, 67.3%"
    assert of_array(one_known, replace(STALLED, task="1")).startswith("1 stalled, 12_2: 67.3%, ")
    only = running("1")
    array = replace(only, job=replace(only.job, pending_indices="2-40"))
    progress = JobProgress(NOW_S, {"1": progress_of(67_300, 100_000)})
    assert job_progress(array, progress, NOW_S).startswith("12_1: 67.3%, ")
    assert job_progress(array, JobProgress(NOW_S), NOW_S) == ""


def test_tasks_that_are_equally_far_show_their_share_once() -> None:
    tasks = {key: progress_of(55, 100) for key in ("1", "2")}
    assert job_progress(running("1", "2"), JobProgress(NOW_S, tasks), NOW_S) == "55%"


def test_an_array_shows_how_far_its_tasks_are_and_which_one_ends_last() -> None:
    tasks = {"1": progress_of(20, 100), "2": progress_of(90, 100), "3": FollowedTask()}
    followed = [*live_tasks(running("1", "2", "3"), JobProgress(NOW_S, tasks), NOW_S)]
    rows = dict(array_rows(followed, NOW_S))
    assert rows["progress"] == "20% to 90% (2 of 3 running tasks)"
    assert rows["ETA"].startswith("10h ")
    assert rows["ETA"].endswith(" confidence; the end of 1 other task is not known")
    rows = dict(array_rows(followed[:2], NOW_S))
    assert rows["progress"] == "20% to 90% (2 running tasks)"
    assert rows["ETA"].endswith(" confidence; 12_1 ends last")
    assert dict(array_rows([], NOW_S)) == {}


def test_a_job_whose_logs_show_nothing_says_nothing() -> None:
    assert text(FollowedTask()) == ""
    assert job_progress(running(""), None, NOW_S) == ""


def test_the_rows_of_show_name_the_end_the_speed_and_what_happened() -> None:
    followed = progress_of(67_300, 100_000)
    assert followed.progress is not None
    metrics = {"accuracy": 0.9312, "step_time_s": 0.0523, "latency_s": 1.5, "tokens_per_s": 5210.4, "n": 7.0}
    progress = replace(followed.progress, epoch=2.0, epochs=3.0, metrics=metrics)
    followed = replace(followed, progress=progress)
    (live,) = live_tasks(running(""), JobProgress(NOW_S, {"": followed}, (STALLED,)), NOW_S)
    rows = dict(progress_rows(live, NOW_S))
    assert rows["progress"] == "67.3% (67,300/100,000 steps), epoch 2/3, 0s ago"
    assert rows["ETA"] == "not known while it makes no progress"
    assert rows["speed"] == "7.4 steps/s (average 7.3 steps/s)"
    assert rows["loss"] == "0.35"
    assert rows["metrics"] == "accuracy 0.9312, step time 52.3 ms, latency 1.5 s, 5,210 tokens/s, n 7"
    assert rows["events"].endswith("no progress for 12m")


def test_the_progress_of_a_running_job_says_how_old_it_is() -> None:
    progress = JobProgress(NOW_S, {"": progress_of(67_300, 100_000)})

    def said(status: JobStatus, now_s: float) -> str:
        (live,) = live_tasks(status, progress, now_s)
        return dict(progress_rows(live, now_s))["progress"]

    assert said(running(""), NOW_S + 25) == "67.3% (67,300/100,000 steps), 25s ago"
    assert said(running(""), NOW_S - 5).endswith(" 0s ago")  # the clock of another host
    assert said(status_of(job_of(succeeded())), NOW_S + 25) == "67.3% (67,300/100,000 steps)"


def test_a_job_that_has_written_nothing_says_so_in_status_and_show() -> None:
    event = Event(NOW_S - 60, EventKind.NO_OUTPUT, "started 5m 00s ago, but its logs have no output yet")
    assert text(FollowedTask(), event) == "no output"
    (live,) = live_tasks(running(""), JobProgress(NOW_S, {"": FollowedTask()}, (event,)), NOW_S)
    assert dict(progress_rows(live, NOW_S))["events"].endswith(event.text)
