"""The remaining time in the report of `jobmon progress` about a job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jobmon_core.app.jobs.progress import LogProgress
from tests.support.job_records import NOW_S
from tests.support.live_jobs import progress_of

HISTORY = progress_of(90.0, 100.0).history


def logs_of(folder: Path, line: str) -> LogProgress:
    log = folder / "train.log"
    log.write_text(f"{line}\n")
    return LogProgress((str(log),), history=HISTORY)


def test_a_job_that_has_ended_has_no_time_left(tmp_path: Path) -> None:
    running = logs_of(tmp_path, " 90%|##| 90/100 [01:30<00:10, 1.00it/s]")
    report = running.estimated(running.read(ended=True), NOW_S)
    assert report.remaining_s is not None
    ended = replace(running, is_over=True)
    report = ended.estimated(ended.read(ended=True), NOW_S)
    assert report.remaining_s is report.estimate.remaining_s is None
    assert report.estimate.average_rate_per_s is not None


def test_what_is_finished_needs_no_time_even_if_the_monitor_has_not_seen_it_yet(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, "Processed 100/100 items")
    assert logs.estimated(logs.read(ended=True), NOW_S).remaining_s is None
