"""How far a run came, as the message about its end says it; and which successes are not complete."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis
from jobmon_core.domain.logs.progress.model import History, Progress, Sample, TaskProgress
from jobmon_core.domain.logs.progress.result import with_result, with_time_needed

COMPLETED = Diagnosis(None, "Completed", "The job completed.", "", label="clean")
FAILED = Diagnosis("cuda_oom", "CUDA out of memory", "", "")


def followed(progress: Progress | None, looks: int = 100) -> TaskProgress:
    """Return a progress that was looked at every 30 s and grew evenly."""
    last = progress.current if progress else 0.0
    samples = [Sample(1000.0 + 30 * look, last * look / looks) for look in range(1, looks + 1)]
    return TaskProgress(progress, History(samples=tuple(samples)))


def of_success(progress: Progress | None, expected: float | None = None, looks: int = 100) -> Diagnosis:
    return with_result(COMPLETED, followed(progress, looks), succeeded=True, expected=expected)


def of_failure(progress: Progress) -> str:
    return with_result(FAILED, followed(progress), succeeded=False, expected=None).work


def test_a_success_says_how_much_was_done_and_how_fast_on_average() -> None:
    assert of_success(Progress(100_000, 100_000, "item")).work == "100,000 items, 33.3 items/s on average"
    assert of_success(Progress(30, None, "epoch")).work == "30 epochs, 36.0 epochs/h on average"


def test_a_success_that_stopped_early_says_of_how_many() -> None:
    assert of_success(Progress(6_000, 10_000)).work == "6,000 of 10,000 steps, 2.0 steps/s on average"


def test_the_last_loss_and_the_metrics_of_the_user_are_kept() -> None:
    progress = Progress(5, 5, loss=0.41234, metrics={"accuracy": 0.93, "tokens_per_s": 12.0})
    assert of_success(progress).figures == "loss 0.4123, accuracy 0.93"
    assert of_success(Progress(5, 5)).figures == ""


def test_after_one_look_no_average_is_known() -> None:
    assert of_success(Progress(500, 500, "item"), looks=1).work == "500 items"


def test_a_failure_says_where_it_stopped() -> None:
    assert of_failure(Progress(4_200, 10_000)) == "reached step 4,200 of 10,000 (42%)"
    assert of_failure(Progress(4_200, None, "item")) == "reached item 4,200"
    assert of_failure(Progress(42, 100, "%")) == "reached 42%"
    assert of_failure(Progress(9_999, 10_000)).endswith("(99%)")


def at_time_limit(idle_s: float, current: float = 4_200) -> Diagnosis:
    """Return the diagnosis of a run of 50 minutes that made no progress in its last seconds."""
    timeout = Diagnosis("slurm_timeout", "Time limit reached", "", "Request more time.", work="reached step")
    run = followed(Progress(current, 10_000))
    return with_time_needed(timeout, run, run.history.samples[-1].at_s + idle_s, 3_000 + idle_s)


def test_a_run_that_stopped_moving_long_before_its_time_limit_may_not_need_more_time() -> None:
    found = at_time_limit(1740.0)
    assert found.work == "reached step, and no progress in its last 29m"
    assert found.advice.startswith("Find out first why it made no progress")
    assert found.advice.endswith("Request more time.")


def test_a_run_that_moved_until_its_time_limit_needs_more_time() -> None:
    found = at_time_limit(240.0)
    assert found.advice == (
        "At its speed, it needs about 2h 03m: `--time=2:30:00` leaves a margin. Request more time."
    )
    assert found.work == "reached step; at its speed, the rest takes about 1h 09m"
    assert at_time_limit(1740.0, current=10_000).advice == "Request more time.", "it only had to end"


def test_what_is_not_known_of_this_run_is_not_said() -> None:
    assert of_success(None).work == ""
    assert of_success(Progress(0, 100)).work == ""
    earlier_run = TaskProgress(Progress(4_200, 10_000))
    assert with_result(FAILED, earlier_run, succeeded=False, expected=None) == FAILED


def test_a_success_that_processed_less_than_the_user_named_is_incomplete() -> None:
    found = of_success(Progress(67_300, 100_000, "item"), expected=100_000)
    assert (found.cause, found.label) == (INCOMPLETE, None)
    assert found.doubt == "processed only 67,300 of 100,000 items"


@pytest.mark.parametrize(
    ("progress", "expected"),
    [
        (Progress(67_300, 100_000, "item"), None),  # only the log names a total: it may stop early
        (Progress(99_000, 100_000, "item"), 100_000),
        (Progress(67_300, 100_000, "item", end_marker="Early stopping at epoch 3"), 100_000),
        (Progress(673, 1_000, "step"), 100_000),  # the log counts something else
        (Progress(3, 100_000, "epoch"), 100_000),
        (Progress(312, 10_000, "step"), 10_000),  # steps of many items, and a log without a total
    ],
)
def test_what_may_be_complete_is_not_doubted(progress: Progress, expected: float | None) -> None:
    assert of_success(progress, expected).cause is None


def test_a_count_that_is_printed_only_now_and_then_may_stop_before_the_total() -> None:
    assert of_success(Progress(90_000, 100_000, "item"), 100_000, looks=9).cause is None
    assert of_success(Progress(80_000, 100_000, "item"), 100_000, looks=8).cause == INCOMPLETE


def test_a_failure_and_a_failure_at_the_end_of_the_log_keep_their_cause() -> None:
    short = followed(Progress(67_300, 100_000, "item"))
    for succeeded in (True, False):
        assert with_result(FAILED, short, succeeded=succeeded, expected=100_000).cause == "cuda_oom"
    unexplained = replace(FAILED, cause=None)
    assert with_result(unexplained, short, succeeded=False, expected=100_000).cause is None
