"""A message at a fixed period says how far a running job is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import follow_progress
from jobmon_core.domain.channels import Level
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.progress_alerts import with_further_events
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.followed_job import RUNNING, START_S, FollowedJob
from tests.support.local_time import local_time

EVERY_S = 7200.0
POLICY = Policy(progress_messages=False)  # a period of its own does not depend on warnings


class Periodic(FollowedJob):
    """A job whose monitor queues the periodic messages, and is killed before it has when it ``forgets``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, JobSettings(progress_every_s=EVERY_S))

    def titles(self, seconds: float, text: str = "", *, forgets: bool = False) -> list[str]:
        """Do as `later` does; return the titles of the new messages."""
        before = self.job
        job = with_further_events(before, self.later(seconds, text), POLICY, self.now_s)
        if not forgets:
            self.job = replace(job, outbox=())
        return [entry.message.title for entry in job.outbox]

    def steps(self, first: int, last: int, seconds: float) -> None:
        for step in range(first, last):
            assert self.titles(seconds, f"step {step}/1000 loss 0.5\n") == []


@pytest.fixture
def run(tmp_path: Path) -> Periodic:
    return Periodic(tmp_path)


def test_one_message_a_period_says_how_far_the_job_is(run: Periodic) -> None:
    run.steps(1, 11, 700.0)
    [title] = run.titles(300.0, "step 11/1000 loss 0.5\n")
    assert title.startswith("job (12): 1.1% (11/1,000 steps), about ")
    assert title.endswith(" left (running for 2h 01m)")
    run.steps(12, 22, 650.0)
    [title] = run.titles(700.0, "step 22/1000 loss 0.5\n")
    assert "(22/1,000 steps)" in title


def test_without_a_new_step_it_says_since_when(run: Periodic) -> None:
    with local_time("UTC"):
        run.steps(1, 11, 600.0)  # the start is at 22:13:20
        assert "no new step" not in run.titles(1200.0, "step 11/1000 loss 0.5\n")[0]
        [title] = run.titles(EVERY_S)
        assert title == "job (12): 1.1% (11/1,000 steps), no new step since 00:13 (running for 4h)"


def test_a_job_whose_log_shows_no_progress_is_told_as_such(run: Periodic) -> None:
    assert run.titles(EVERY_S + 5.0, "hello\n") == [
        "job (12): its log shows no progress yet (running for 2h)"
    ]


def test_a_monitor_that_starts_again_tells_nothing_twice_and_loses_nothing(run: Periodic) -> None:
    run.steps(1, 11, 600.0)
    assert len(run.titles(1300.0, forgets=True)) == 1  # it was killed before it saved the message
    assert len(run.titles(30.0)) == 1
    (run.folder / "slurm-12-x.json").unlink()  # a power cut may take the progress file
    assert run.titles(30.0) == []
    assert len(run.titles(3 * EVERY_S)) == 1  # one after a long time without a monitor, not three
    assert run.titles(30.0) == []


def test_jobs_that_do_not_run_send_none(run: Periodic) -> None:
    for state in (JobState.SUSPENDED, JobState.PENDING, JobState.COMPLETING):
        run.job = replace(run.job, tasks={"": replace(RUNNING, state=state)})
        assert run.titles(2 * EVERY_S, "step 5/10\n") == []
    ended = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.ACCOUNTING)
    run.job = replace(run.job, tasks={"": replace(RUNNING, end=ended)})
    assert run.titles(2 * EVERY_S) == []


def test_it_is_off_unless_the_user_wants_it(tmp_path: Path) -> None:
    run = FollowedJob(tmp_path)
    assert EventKind.PERIODIC not in [each.kind for each in run.later(9000.0, "step 5/10\n")]

    def events(job: WatchedJob, every_s: float) -> list[EventKind]:
        file = tmp_path / "other.json"
        found = follow_progress((job,), lambda _: file, run.now_s, every_s=every_s)
        return [each.kind for each in found[job.id].events]

    assert EventKind.PERIODIC in events(run.job, EVERY_S)  # by config.json
    quiet = replace(run.job, settings=JobSettings(progress_every_s=0.0))  # but not for this job
    assert EventKind.PERIODIC not in events(quiet, EVERY_S)


def test_an_array_has_one_message_about_all_its_tasks(run: Periodic) -> None:
    ended = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.ACCOUNTING)
    tasks = {key: Task(key, JobState.RUNNING, "RUNNING", start_s=START_S) for key in "123"}
    tasks["3"] = replace(tasks["3"], end=ended)
    run.job = replace(run.job, tasks=tasks, array_indices="1-3")
    assert run.titles(EVERY_S + 60.0) == ["job (12): 2 tasks running, 1 ended (running for 2h 01m)"]


def test_a_later_message_replaces_one_that_waits_for_the_end_of_quiet_hours(run: Periodic) -> None:
    def told(job: WatchedJob, at_s: float) -> WatchedJob:
        return with_further_events(job, [Event(at_s, EventKind.PERIODIC, f"{at_s:g}")], POLICY, at_s)

    first = told(run.job, 100.0)
    held = replace(first, outbox=(replace(first.outbox[0], held="quiet hours", held_until_s=900.0),))
    [entry] = told(held, 200.0).outbox
    assert (entry.message.title, entry.message.level) == ("job (12): 200", Level.PROGRESS)
    begun = replace(held, outbox=(replace(held.outbox[0], attempts=1),))
    assert [each.message.title for each in told(begun, 200.0).outbox] == ["job (12): 100", "job (12): 200"]
    assert told(held, 200.0).alerted == (":progress-periodic-200",)
