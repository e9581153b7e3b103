"""What a report is made of, from the files of a job."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon.views.report.facts import report_json, times
from jobmon.views.report.html import report_html
from jobmon_core.app.jobs.report import ReportData, collect_report
from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.report.series import Window
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Cost, Diagnosis
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.home import Home
from tests.support.clock import FakeClock
from tests.support.telemetry import START_S, Shape, eventful_job, two_nodes, write_telemetry

_HOUR_S = 3600


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    """A context with an empty home, three hours after the start of the job."""
    return Context(Home(tmp_path / "home"), {}, clock=FakeClock(START_S + 3 * _HOUR_S))


def collected(ctx: Context, job: WatchedJob, progress: JobProgress | None = None) -> ReportData:
    ctx.store.save(job)
    if progress:
        ctx.progress_file(job.id).write(progress)
    return collect_report(ctx, "8123")


def with_task(job: WatchedJob, task: Task) -> WatchedJob:
    return replace(job, tasks={task.key: task})


def test_the_window_is_the_run_as_slurm_reports_it(ctx: Context) -> None:
    assert collected(ctx, eventful_job()[0]).window == Window(START_S, START_S + 3 * _HOUR_S)


def test_a_run_whose_times_nobody_knows_is_as_long_as_its_progress(ctx: Context) -> None:
    job, progress = eventful_job()
    end = job.tasks[""].end
    assert end
    task = replace(job.tasks[""], start_s=None, end=replace(end, started_s=None, ended_s=None))
    window = collected(ctx, with_task(job, task), progress).window
    assert window == Window(START_S, progress.tasks[""].history.samples[-1].at_s)


def test_what_agents_measured_before_a_restart_is_left_out(ctx: Context) -> None:
    job, _ = eventful_job(ended=False)
    write_telemetry(ctx.home.telemetry_folder(job.id, ""), two_nodes(Shape(gpus=1, hours=0.5)))
    assert [len(node.samples) for node in collected(ctx, job).nodes] == [140, 140]
    restarted = with_task(job, replace(job.tasks[""], start_s=START_S + _HOUR_S, restarts=1))
    assert [node.samples for node in collected(ctx, restarted).nodes] == [(), ()]


def test_only_a_running_job_has_current_problems(ctx: Context) -> None:
    job, progress = eventful_job(ended=False)
    found = collected(ctx, job, progress)
    assert [event.subject for event in found.problems] == ["memory-leak"]
    assert len(found.events) == len(progress.events)
    assert collected(ctx, *eventful_job()).problems == ()


def test_a_damaged_history_is_left_out(ctx: Context) -> None:
    job, progress = eventful_job()
    known = progress.tasks[""]
    damaged = replace(known, history=replace(known.history, longest_pause_s=math.inf))
    found = collected(ctx, job, replace(progress, tasks={"": damaged}))
    assert found.progress.history.samples == ()
    assert "</html>" in report_html(found)


def test_events_have_no_secrets(ctx: Context) -> None:
    job, progress = eventful_job(ended=False)
    token = "ghp_" + "a1B2" * 9
    event = Event(START_S + 60.0, EventKind.ERROR, f"token {token}", evidence=(f"token={token}",))
    found = collected(ctx, job, replace(progress, events=(event,)))
    assert token not in str(found.events)
    assert token not in str(found.problems)


NEW = WatchedJob("slurm-8123-x", 8123, START_S)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (NEW, "is not listed by the scheduler yet"),
        (replace(NEW, unwatched_s=START_S), "is no longer watched, and jobmon never saw it start"),
        (
            replace(NEW, array_indices="1-2", pending_indices="1-2", pending_reason="Priority"),
            "has not started (PENDING, Priority)",
        ),
        (
            replace(
                NEW, pending_indices="1-2", pending_reason="Priority", answered_s=START_S + 3 * _HOUR_S - 55
            ),
            "has not started (PENDING, Priority, as of 55s ago)",
        ),
        (with_task(NEW, Task("", state=JobState.REQUEUE_HOLD)), "has not started (REQUEUE_HOLD)"),
        (
            with_task(NEW, Task("", state=JobState.PENDING, reason="BeginTime", restarts=1)),
            "waits for its next start (PENDING, BeginTime)",
        ),
    ],
)
def test_a_job_without_a_run_is_not_called_pending_unless_slurm_says_so(
    ctx: Context, job: WatchedJob, why: str
) -> None:
    with pytest.raises(JobmonError) as raised:
        collected(ctx, job)
    assert str(raised.value) == f"job 8123 {why}, so there is nothing to report"


def test_a_report_says_what_the_run_cost_if_there_are_prices(ctx: Context) -> None:
    job, progress = eventful_job()
    (task,) = job.tasks.values()
    found = task.diagnosis or Diagnosis(None, "", "", "")
    priced = replace(task, diagnosis=replace(found, cost=Cost(1234.5, "EUR")))
    data = collected(ctx, with_task(job, priced), progress)
    assert ("cost", "1,234.50 EUR") in times(data)
    assert (report_json(data)["cost"], report_json(data)["currency"]) == (1234.5, "EUR")
    without = collected(ctx, job, progress)
    assert "cost" not in dict(times(without))
    assert report_json(without)["cost"] is None
