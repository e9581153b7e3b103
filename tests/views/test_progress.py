"""How `jobmon progress` says how far a program is."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.console import Console
from jobmon.views.model import clock
from jobmon.views.progress import progress_line, progress_lines
from jobmon_core.app.jobs.progress import ProgressReport
from jobmon_core.domain.logs.progress.model import Confidence, Estimate, Progress
from tests.support.job_records import NOW_S

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
