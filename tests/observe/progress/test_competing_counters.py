"""Which counter of a log stands for the job, if several do not agree or one of them has stopped."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.figures import units
from jobmon_core.domain.logs.progress.log.judge import with_total
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from tests.observe.progress.test_reader import read, values
from tests.support.training_logs import bar, bars


def test_a_bar_that_is_not_printed_any_more_gives_way_to_lines_that_go_on_from_it() -> None:
    log = bar(2, 640, "Training") + "\n" + "".join(f"step:{n} - loss:0.5\n" for n in (3, 4, 5))
    assert values(log, current=0, total=0) == {"current": 5, "total": 640}


def test_a_bar_that_stands_still_beside_lines_gives_way_to_them() -> None:
    both = "".join(bar(n, 27_000, "Training") + f"\nstep:{n} - loss:0.{'5' * n}\n" for n in range(1, 20))
    alone = "".join(f"step:{n} - loss:0.{'4' * n}\n" for n in range(20, 90))
    assert values(both + alone, current=0, total=0) == {"current": 89, "total": 27_000}


def test_a_slow_bar_stays_the_job_beside_lines_that_count_its_parts() -> None:
    log = ""
    for step in range(1, 6):
        log += "".join(f"step:{64 * step + n} - loss:0.{'5' * (n + 1)}\n" for n in range(64))
        log += bar(step, 900, "Training") + "\n"
    log += "".join(f"step:{384 + n} - loss:0.{'5' * (n + 1)}\n" for n in range(50))
    assert values(log, current=0, total=0) == {"current": 5, "total": 900}


def test_a_finished_preparation_is_not_the_job() -> None:
    log = "Progress: 50% (200/400 merges)\nProgress: 100% (400/400 merges)\nFinished: 400 merges\n"
    assert values(log, current=0) == {"current": 100}
    log += "step 00000/00030 (0.00%) | loss: 6.9\n"
    assert values(log, current=0, total=0) == {"current": 0, "total": 30}


def test_a_full_bar_within_the_first_query_is_not_the_job() -> None:
    log = "10:10:00 Query 1/48: A1 (length 40)\n" + bars(0, 150, 50, 150, "COMPLETE")
    assert values(log, current=0, total=0) == {"current": 1, "total": 48}


def test_a_part_that_is_full_stays_the_count_beside_later_mentions_of_others() -> None:
    log = bars(0, 100, 10, 100, "Training") + "\nSaved file 7 of 20\n"
    assert values(log, current=0, total=0) == {"current": 100, "total": 100}


def test_the_next_phase_does_not_inherit_the_total_of_the_one_before() -> None:
    log = "".join(f"step {n:05}/00020 | loss: 1.0\n" for n in (0, 5, 10, 15, 19))
    log += "".join(f"step {n:05} ({100 * n / 48:.2f}%) | loss: 0.9\n" for n in (1, 10, 20, 30))
    assert values(log, current=0, total=0) == {"current": 30, "total": 48}


def test_a_percentage_that_starts_again_is_that_of_the_next_part() -> None:
    parts = "".join(f"  |{'.' * n:25}| {4 * n:3}%\n" for n in (0, 12, 25, 0, 3, 8))
    assert values(parts, current=0, total=0) == {"current": 32, "total": 100}


def test_a_bar_that_ended_one_of_several_epochs_stays_the_job_beside_lines_without_a_total() -> None:
    log = ""
    for epoch in (1, 2, 3):
        log += bars(0, 100, 50, 100, f"Epoch {epoch}/20") + "\n"
        log += "".join(f"(epoch: {epoch}, iters: {20 * epoch + n}, time: 0.5)\n" for n in (0, 40))
        log += (
            f"saving the model at the end of epoch {epoch}, iters {100 * epoch}\nEnd of epoch {epoch} / 20\n"
        )
    assert values(log, current=0, total=0, epoch=0) == {"current": 300, "total": 2000, "epoch": 3}


def test_numbers_that_fall_are_not_what_is_done() -> None:
    assert read("".join(f"T-{n}: step {n} left\n" for n in range(99, 1, -1))) is None
    assert values("step 5000 is the last\nstep 1 loss\nstep 2 loss\n", current=0) == {"current": 2}
    assert read("".join(f"Timestep {n}, sequence: AAC\n" for n in range(149, 140, -1))) is None
    assert values("".join(f"Timestep {n}, sequence: AAC\n" for n in range(9)), current=0) == {"current": 8}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(1, 20), (1, 40), (1, 60), (2, 120)], {"current": 120, "total": 500}),
        ([(1, 200), (1, 400), (2, 100), (2, 300)], {"current": 800, "total": None}),
    ],
)
def test_a_total_is_that_of_the_job_if_epochs_end_far_below_it(
    counts: list[tuple[int, int]], expected: dict[str, object]
) -> None:
    log = "".join(f"[TRAIN] epoch: {epoch}, iter: {n}/500, loss: 2.0\n" for epoch, n in counts)
    assert values(log, **expected) == expected


def test_trials_that_only_exist_are_not_done() -> None:
    log = "Number of trials: 6/8 (6 RUNNING)\nNumber of trials: 6/8 (4 RUNNING, 2 TERMINATED)\n"
    assert values(log, current=0, total=0, unit=0) == {"current": 2, "total": 8, "unit": "trial"}


OWN = {
    "items_processed": r"Processed (\d+)/(\d+) items",
    "throughput": r"(\d+\.?\d*) items/s",
    "epoch": r"Epoch (\d+)/(\d+)",
    "batch": r"Batch (\d+)/(\d+)",
}


def _epochs(last: int, items: int) -> str:
    """Return the log of five epochs of 30,000 items, up to so many items of one of them."""
    return "".join(
        f"Epoch {epoch}/5 Batch {n // 100}/300 Processed {n}/30000 items (245.5 items/s) loss: 0.34\n"
        for epoch in range(1, last + 1)
        for n in range(600, (items if epoch == last else 30_000) + 1, 600)
    )


@pytest.mark.parametrize("patterns", [OWN, {}])
def test_epochs_batches_and_items_on_one_line_all_count(patterns: dict[str, str]) -> None:
    reader = ProgressReader(FormatMatcher.with_patterns(patterns))
    reader.feed(_epochs(3, 11_400).encode())
    expected = {
        "current": 71_400, "total": 150_000, "unit": "item", "epoch": 3, "epochs": 5, "batch": 114,
        "batches": 300, "rate_per_s": 245.5, "run": 1,
    }  # fmt: skip
    assert {name: getattr(reader.progress, name) for name in expected} == expected


def test_items_of_the_whole_job_go_on_over_the_epochs() -> None:
    log = "".join(f"Epoch {1 + n // 20}/5 Processed {n}000/100000 items\n" for n in range(1, 71))
    assert values(log, current=0, total=0, unit=0) == {"current": 70_000, "total": 100_000, "unit": "item"}


def test_the_users_patterns_count_instead_of_what_is_found() -> None:
    reader = ProgressReader(FormatMatcher.with_patterns({"items": r"indexed (\d+)"}))
    reader.feed(b"step 3/10\nindexed 50 so far\nstep 4/10\nindexed 70 so far\n" + bars(0, 9, 1, 90).encode())
    assert reader.progress is not None
    assert (reader.progress.current, reader.progress.unit) == (70, "item")


def test_a_total_that_may_be_that_of_an_epoch_or_of_the_job_is_not_clear() -> None:
    progress = read(_epochs(1, 11_400))
    assert progress is not None
    assert (progress.total, progress.unclear) == (None, ("11,400 of 30,000 items", "1 of 5 epochs"))
    assert units(progress) == "not clear: 11,400 of 30,000 items, 1 of 5 epochs"
    known = with_total(progress, 150_000)
    assert known is not None
    assert (known.total, known.unclear) == (150_000, ())


def test_counters_that_run_beside_each_other_and_disagree_are_not_clear() -> None:
    log = "".join(f"step {n}/640\nround {n // 12}/20\n" for n in range(24, 180, 3))
    assert values(log, unclear=0) == {"unclear": ()}  # both say the same
    progress = read("".join(f"step {10 * n}/640\nProcessed {n}/20 files\n" for n in range(1, 17)))
    assert progress is not None
    assert (progress.total, progress.unclear) == (None, ("16 of 20 items", "160 of 640 steps"))


@pytest.mark.parametrize(
    ("progress", "total"),
    [
        (Progress(1000, 1000, "item"), 5000),
        (Progress(75_000, 75_000, "sample"), 100_000),
        (Progress(3, None, "step"), 5000),
    ],
)
def test_the_users_total_counts_whatever_the_log_says(progress: Progress, total: float) -> None:
    found = with_total(progress, total)
    assert found is not None
    assert (found.current, found.total) == (progress.current, total)


@pytest.mark.parametrize(
    "progress", [Progress(3, 20, "epoch"), Progress(9, 90, "step"), Progress(5, 100, "%")]
)
def test_the_users_total_of_items_is_not_that_of_epochs_or_steps(progress: Progress) -> None:
    assert with_total(progress, 5000) == progress


def test_a_full_bar_after_two_others_need_not_be_the_last_part() -> None:
    parts = [bars(0, 100, 20, 100, f"sample {name}") for name in ("anna", "bert", "carl")]
    assert values(parts[0], current=0, total=0) == {"current": 100, "total": 100}
    assert values("".join(parts), current=0, total=0) == {"current": 100, "total": None}
    assert values("".join(parts) + bars(0, 40, 20, 100, "sample dora"), current=0, total=0) == {
        "current": 40,
        "total": 100,
    }
