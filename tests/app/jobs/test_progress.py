"""The report of `jobmon progress`: the total and the remaining time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from jobmon_core.app.jobs.progress import LogProgress
from jobmon_core.domain.job.job_settings import JobSettings
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


def test_nobody_knows_the_end_while_there_is_no_progress_for_unusually_long(tmp_path: Path) -> None:
    logs = logs_of(tmp_path, " 90%|##| 90/100 [01:30<00:10, 1.00it/s]")
    report = logs.estimated(logs.read(ended=True), NOW_S + 150)
    assert (report.remaining_s, report.pause_s) == (None, 150.0)
    logs = logs_of(tmp_path, " 91%|##| 91/100 [04:00<00:09, 1.00it/s]")
    report = logs.estimated(logs.read(ended=True), NOW_S + 150)
    assert report.pause_s is None, "the log is ahead of the monitor"


def save_state(folder: Path) -> Path:
    folder.mkdir(parents=True)
    state = folder / "trainer_state.json"
    state.write_text(json.dumps({"global_step": 500, "max_steps": 2000, "log_history": []}))
    return state


def test_a_saved_trainer_state_is_read_in_place_of_a_log(tmp_path: Path) -> None:
    report = LogProgress((str(save_state(tmp_path / "checkpoint-500")),)).read(ended=True)
    assert report.progress
    assert (report.progress.current, report.progress.total, report.unread) == (500, 2000, ())
    assert report.updated_s is not None


def test_three_of_four_workers_are_not_the_whole_job(tmp_path: Path) -> None:
    paths = [tmp_path / f"worker_{number}.log" for number in range(3)]
    for path in paths:
        path.write_text("Processed 25000/25000 items\n", encoding="utf-8")
    logs = LogProgress(tuple(map(str, paths)), JobSettings(total_items=100_000, num_workers=4))
    progress = logs.read(ended=True).progress
    assert progress is not None
    assert (progress.current, progress.total, progress.fraction) == (75_000, 100_000, 0.75)


def test_a_checkpoint_names_the_total_that_neither_the_log_nor_the_user_does(tmp_path: Path) -> None:
    save_state(tmp_path / "out" / "checkpoint-500")
    logs = replace(logs_of(tmp_path, "step 700 loss 0.5"), checkpoints=str(tmp_path / "out"))
    found = [replace(logs, settings=JobSettings(total_items=total)).read().progress for total in (None, 900)]
    assert [each and each.total for each in found] == [2000, 900]
