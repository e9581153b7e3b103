"""Whether the own log of an ended worker shows that it had done its share."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.model import Progress, WorkerProgress
from jobmon_core.domain.logs.progress.workers import has_done_its_share, how_far_each_came


@pytest.mark.parametrize(
    "lines",
    [
        ["Processed 2500/2500", "worker 2: done"],
        ["item 1 done", "item 2 done", "Finished successfully in 12 s"],
        ["step 7", "All 2500 items processed", "peak memory: 2 GiB"],
        ["shard 3 complete."],
    ],
)
def test_a_last_line_of_its_own_kind_that_reports_success_shows_it(lines: list[str]) -> None:
    assert has_done_its_share(None, lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["item 1 done", "item 2 done", "item 3 done"],  # such lines stand all over the log
        ["step 41", "step 42"],
        ["worker 2: done with errors: 3 items failed"],
        ["not finished yet"],
        ["done", "Traceback (most recent call last):", "RuntimeError: Error"],
        [],
    ],
)
def test_an_ordinary_or_failing_last_line_does_not_show_it(lines: list[str]) -> None:
    assert not has_done_its_share(Progress(current=40.0, total=100.0), lines)


def test_a_count_at_its_total_shows_it() -> None:
    assert has_done_its_share(Progress(current=100.0, total=100.0), ["step 100/100"])


def _at(current: float) -> WorkerProgress:
    return WorkerProgress(Progress(current=current, total=500.0, unit="item"))


def test_the_end_of_several_workers_says_how_far_each_came() -> None:
    done = {f"w{number}.log": _at(500.0) for number in range(4)}
    assert how_far_each_came(done, {}) == "all 4 workers reached their total"
    exits = dict.fromkeys(done, "exit code 0 (success)")
    assert how_far_each_came(done, exits).endswith("their total, and ended with exit code 0 (success)")
    mixed = {**done, "w1.log": _at(120.0), "w3.log": WorkerProgress()}
    assert how_far_each_came(mixed, {"w1.log": "killed by signal 9"}) == (
        "2 of 4 workers reached their total; w1.log reached item 120 of 500 (killed by signal 9), "
        "w3.log shows no progress"
    )
    assert how_far_each_came({"w0.log": _at(500.0)}, {}) == ""
    many = {f"w{number}.log": _at(1.0) for number in range(8)}
    assert how_far_each_came(many, {}).endswith(" and 2 more")


def test_a_worker_that_shows_a_percentage_reached_that() -> None:
    workers = {"w0.log": WorkerProgress(Progress(42.0, 100.0, unit="%")), "w1.log": WorkerProgress()}
    assert how_far_each_came(workers, {}).endswith("w0.log reached 42%, w1.log shows no progress")
