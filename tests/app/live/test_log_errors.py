"""The error lines of a running task."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.live.log_errors import MOST, ErrorLine, LogErrors
from jobmon_core.domain.job.job_settings import ErrorPattern, JobSettings
from jobmon_core.observe.logs.read import read_tail
from tests.support.job_records import JOB

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "train.log"


def texts(log: Path, *others: Path) -> list[str]:
    found = LogErrors(JOB, None).latest([str(path) for path in (log, *others)])
    return [each.text for each in found]


def test_an_error_has_the_time_that_its_line_carries(log: Path) -> None:
    log.write_text(f"step 1\n[rank3]: 2026-11-23 03:12:45,123 - ERROR - {OOM}\n{OOM}\n", encoding="utf-8")
    first, second = LogErrors(JOB, None).latest([str(log)])
    assert first == ErrorLine(str(log), False, OOM, "03:12:45")
    assert second.clock == ""


def test_of_a_traceback_the_exception_is_shown(log: Path) -> None:
    frame = '  File "a.py", line 3, in <module>\n    raise ValueError(x)'
    traceback = f"Traceback (most recent call last):\n{frame}\nValueError: bad learning rate"
    log.write_text(f"{traceback}\nstep 2\n", encoding="utf-8")
    assert texts(log) == ["ValueError: bad learning rate"]


def test_what_only_reports_that_processes_end_is_no_error_line(log: Path) -> None:
    line = "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."
    log.write_text(f"{line}\n", encoding="utf-8")
    assert texts(log) == []


def test_the_elapsed_time_of_a_bar_is_no_time_of_day(log: Path) -> None:
    log.write_text(
        " 38%|###  | 19/50 [13:41:09<20:25:39]slurmstepd: error: *** JOB 7 CANCELLED AT now ***\n",
        encoding="utf-8",
    )
    assert LogErrors(JOB, None).latest([str(log)])[0].clock == ""


def test_only_the_latest_lines_near_the_end_of_a_log_are_shown(log: Path) -> None:
    log.write_text(f"{OOM}\n" + "step\n" * 20_000, encoding="utf-8")
    assert texts(log) == []
    log.write_text("".join(f"ValueError: {number}\n" for number in range(9)), encoding="utf-8")
    assert texts(log) == [f"ValueError: {number}" for number in range(9 - MOST, 9)]


def test_the_lines_of_several_workers_are_in_the_order_of_their_times(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "worker_1.log"
    log.write_text(f"03:00:02 {OOM} 2\n03:00:09 {OOM} 4\n", encoding="utf-8")
    other.write_text(f"03:00:01 {OOM} 1\n03:00:05 {OOM} 3\n", encoding="utf-8")
    assert [text[-1] for text in texts(log, other)] == ["1", "2", "3", "4"]


def test_what_the_log_held_before_the_job_is_not_its_error(log: Path) -> None:
    log.write_text(f"{OOM}\n", encoding="utf-8")
    earlier = read_tail(str(log)).as_earlier_log()
    assert earlier
    with log.open("a", encoding="utf-8") as file:
        file.write("ValueError: new\n")
    errors = LogErrors(replace(JOB, earlier_logs={str(log): earlier}), None)
    assert [each.text for each in errors.latest([str(log)])] == ["ValueError: new"]


def test_the_patterns_of_the_job_count_too(log: Path) -> None:
    settings = JobSettings(error_patterns=(ErrorPattern("skipped [0-9]+ records", is_warning=True),))
    log.write_text("skipped 12 records\n", encoding="utf-8")
    (found,) = LogErrors(replace(JOB, settings=settings), None).latest([str(log)])
    assert (found.is_warning, found.text) == (True, "skipped 12 records")


def test_a_log_is_read_again_only_after_it_has_changed(log: Path) -> None:
    errors = LogErrors(JOB, None)
    assert errors.latest([str(log)]) == ()
    log.write_text("ValueError: one\n", encoding="utf-8")
    first = errors.latest([str(log)])
    assert errors.latest([str(log)])[0] is first[0]
    log.write_text("ValueError: another one\n", encoding="utf-8")
    os.utime(log, (1, 1))
    assert [each.text for each in errors.latest([str(log)])] == ["ValueError: another one"]
