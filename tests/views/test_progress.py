"""How `jobmon progress` says how far a program is, and when it will end."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from jobmon.views.console import Console
from jobmon.views.model import clock
from jobmon.views.progress import ending, eta, progress_line, progress_lines, remaining
from jobmon.views.running import job_progress
from jobmon.views.top.drawing import UNICODE
from jobmon_core.app.jobs.progress import ProgressReport
from jobmon_core.app.live.tasks import LiveTask, live_tasks
from jobmon_core.domain.job.history.baseline import Comparison, Usual
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.logs.progress.figures import loss, percentage, units
from jobmon_core.domain.logs.progress.model import Confidence, Estimate, Progress
from jobmon_core.lifecycle.health import Health
from tests.support.job_records import NOW_S, job_of, status_of
from tests.support.live_jobs import progress_of, running_task

PROGRESS = Progress(86, 400, "step", loss=1.075)
ESTIMATE = Estimate(1.0, 1.0, 314.0, 300.0, 330.0, Confidence.MEDIUM)
REPORT = ProgressReport(PROGRESS, estimate=ESTIMATE)


def followed(width: int, report: ProgressReport = REPORT) -> str:
    assert report.progress is not None
    return progress_line(report, report.progress, NOW_S, Console(width))


def test_a_followed_log_shows_the_time_left_first_and_then_what_fits() -> None:
    assert followed(40) == "21.5% (86/400 steps)   5m 14s left"
    line = "21.5% (86/400 steps)   5m 14s left   loss 1.075   1.0 steps/s"
    assert followed(80) == f"[##--------] {line}"
    assert followed(0) == (
        f"[######------------------------] {line}   ETA {clock(NOW_S + 314, NOW_S)}, "
        "5m to 5m 30s, medium confidence"
    )


def test_a_followed_log_without_an_estimate_says_why() -> None:
    paused = ProgressReport(PROGRESS, pause_s=125.0)
    assert followed(40, paused) == "21.5% (86/400 steps)   no progress for …"
    assert followed(0, paused).endswith("(86/400 steps)   no progress for 2m 05s   loss 1.075")
    as_printed = ProgressReport(replace(PROGRESS, remaining_s=90.0))
    assert "   1m 30s left, as the log says   loss" in followed(0, as_printed)


def test_the_speed_is_measured_if_the_log_prints_none() -> None:
    assert "  loss 1.075   1.0 steps/s" in progress_lines(REPORT, PROGRESS, NOW_S, Console(80))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.34512, "0.3451"),
        (1.2e-6, "1.2e-06"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (12345.6, "1.2e+04"),
        (None, ""),
    ],
)
def test_a_loss_is_short(value: float | None, text: str) -> None:
    assert loss(value) == text


def test_a_share_is_whole_only_at_the_end() -> None:
    assert [percentage(each) for each in (0.0, 0.673, 0.99996, 1.0)] == ["0.0%", "67.3%", "99.9%", "100%"]


def test_what_is_finished_is_counted_in_its_unit() -> None:
    assert units(Progress(67_300, 100_000, "step")) == "67,300/100,000 steps"
    assert units(Progress(67_300, None, "item")) == "67,300 items"
    assert units(Progress(1, None, "epoch")) == "1 epoch"
    assert units(Progress(1, 5, "epoch")) == "1/5 epochs"


def beside(*run_s: float, restarts: int = 0) -> LiveTask:
    """Return a task that has run for 2h 30m, beside earlier runs."""
    start_s = int(NOW_S) - 9000
    usual = Comparison(start_s, Usual(run_s=run_s))
    status = status_of(job_of(replace(running_task(), start_s=start_s, restarts=restarts)))
    return next(live_tasks(status, JobProgress(tasks={"": FollowedTask(compared=usual)}), NOW_S))


def test_before_the_first_step_a_run_ends_when_runs_like_it_do_and_it_says_so() -> None:
    task = beside(12_600.0, 12_600.0, 12_500.0)
    at = clock(NOW_S + 3600, NOW_S)
    text = f"usually in 1h ({at}), since the last 3 runs of its name took 3h 30m"
    assert eta(task, NOW_S) == ending(task, NOW_S, UNICODE) == text
    assert remaining(task, UNICODE) == "usually 1h"
    assert task.estimate.remaining_s is None, "nothing is measured"
    measured = replace(task, progress=progress_of(67_300, 100_000), usual=None)
    assert "usually" not in eta(measured, NOW_S)


def test_runs_that_differ_give_a_range_and_the_others_nothing() -> None:
    assert remaining(beside(9600.0, 12_600.0, 16_200.0), UNICODE) == "usually 10m to 2h"
    for run_s in ((9600.0, 12_600.0, 20_000.0), (12_600.0, 12_600.0), (8000.0, 8100.0, 8200.0)):
        assert remaining(beside(*run_s), UNICODE) == ""
    assert remaining(beside(12_600.0, 12_600.0, 12_500.0, restarts=1), UNICODE) == ""


def live(estimate: Estimate, progress: Progress | None) -> LiveTask:
    task = next(live_tasks(status_of(job_of(running_task())), JobProgress(), NOW_S))
    return replace(task, estimate=estimate, progress=FollowedTask(progress))


def test_the_remaining_time_has_a_range() -> None:
    task = live(Estimate(1.0, 1.0, 4500.0, 4200.0, 4700.0, confidence=Confidence.HIGH), Progress(1, 2))
    assert remaining(task, UNICODE) == "1h 15m ±5m"
    assert remaining(task, UNICODE, with_range=False) == "1h 15m"
    assert ending(task, NOW_S, UNICODE).startswith("1h 15m ±5m (")
    assert ending(task, NOW_S, UNICODE).endswith("), high confidence")


def test_what_is_not_known_is_not_guessed() -> None:
    assert remaining(live(Estimate(), Progress(1, 2)), UNICODE) == "estimating"
    assert remaining(live(Estimate(), Progress(1)), UNICODE) == "no total"
    assert remaining(live(Estimate(), None), UNICODE) == ""
    assert ending(live(Estimate(), Progress(1)), NOW_S, UNICODE) == "not known, since the log names no total"


def test_nobody_knows_the_end_of_a_program_that_makes_no_progress_for_unusually_long() -> None:
    status, later_s = status_of(job_of(running_task())), NOW_S + 150
    progress = JobProgress(tasks={"": progress_of(480.0, 1000.0)})
    assert "left" in job_progress(status, progress, NOW_S)
    assert job_progress(status, progress, later_s) == "48.0%, no progress for 2m 30s"
    (task,) = live_tasks(status, progress, later_s)
    assert eta(task, later_s) == "not known: no progress for 2m 30s"
    assert remaining(task, UNICODE) == "paused 2m 30s"
    assert ending(task, later_s, UNICODE) == "not known, since there was no progress for 2m 30s"


def test_without_a_monitor_nothing_is_known_about_pauses() -> None:
    status = status_of(job_of(running_task()), Health.DEAD)
    progress = JobProgress(tasks={"": progress_of(480.0, 1000.0)})
    assert job_progress(status, progress, NOW_S + 150) == "48.0%"
    (task,) = live_tasks(status, progress, NOW_S + 150)
    assert remaining(task, UNICODE) == "not watched"


def test_a_program_that_has_done_all_its_steps_may_still_run() -> None:
    task = live(Estimate(1.0, 1.0, 0.0, 0.0, 90.0), Progress(2, 2))
    assert eta(task, NOW_S) == remaining(task, UNICODE) == ending(task, NOW_S, UNICODE) == "not ended yet"
    status = status_of(job_of(running_task()))
    assert (
        job_progress(status, JobProgress(tasks={"": progress_of(100.0, 100.0)}), NOW_S)
        == "100%, not ended yet"
    )
