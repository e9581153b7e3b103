"""A run stands out only where those before it agree."""

from __future__ import annotations

import random

import pytest

from jobmon_core.domain.job.history.baseline import Usual, is_unusual, unusual, usual_of
from jobmon_core.domain.job.history.record import HistoryRecord

EARLIER = (1.0, 1.02, 0.98, 1.01, 0.99)


@pytest.mark.parametrize(
    ("value", "earlier", "expected"),
    [
        (1.5, EARLIER, True),
        (1.21, EARLIER, True),
        (1.19, EARLIER, False),  # within 1.2 of the median
        (1.42, (1.0, 1.0, 1.0, 1.0, 1.25), False),  # within 1.15 of the highest
        (9.0, (1.0, 1.0, 1.0, 1.0, 1.31), False),  # the five disagree
        (9.0, EARLIER[:4], False),  # too few
        (9.0, (0.0,) * 5, False),
        (9.0, (*EARLIER, 50.0), True),  # the sixth does not count
    ],
)
def test_the_rule(value: float, earlier: tuple[float, ...], expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_unusual(value, earlier) is expected


@pytest.mark.parametrize("noise", [0.03, 0.1, 0.15, 0.2, 0.4])
def test_it_is_rarely_wrong_whatever_the_noise(noise: float) -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    wrong = sum(is_unusual(each[0], each[1:]) for each in _series(draw, noise, 5_000))
    assert wrong / 5_000 <= 0.03


def test_it_finds_a_run_that_takes_half_as_long_again() -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    found = sum(is_unusual(1.5 * each[0], each[1:]) for each in _series(draw, 0.1, 2_000))
    assert found / 2_000 > 0.7


def _series(draw: random.Random, noise: float, count: int) -> list[list[float]]:
    return [[draw.lognormvariate(0.0, noise) for _ in range(6)] for _ in range(count)]


def run(step_s: float | None, **changes: object) -> HistoryRecord:
    return HistoryRecord(1, 5, 1.0, outcome="success", unit="step", step_s=step_s)._replace(**changes)  # type: ignore[arg-type]


def test_what_stands_out_is_said_with_the_five_values_and_what_to_do() -> None:
    (found,) = unusual(run(2.0), [run(each) for each in EARLIER], "12")
    assert found.id == "slower_than_usual"
    assert found.text == (
        "this run is slower than usual: 2 s per step; the last 5 took 1 s, 1.02 s, 0.98 s, 1.01 s, 0.99 s"
    )
    assert "jobmon diff 12" in found.advice


def test_runs_that_failed_or_count_something_else_are_no_measure() -> None:
    alike = [run(each) for each in EARLIER[:4]]
    assert not [*unusual(run(2.0), [*alike, run(1.0, outcome="failure")], "12")]
    assert not [*unusual(run(2.0), [*alike, run(1.0, doubtful=True)], "12")]
    assert not [*unusual(run(2.0), [*alike, run(1.0, unit="epoch")], "12")]


def test_idle_gpus_count_and_busy_ones_do_not() -> None:
    alike = [run(None, gpu_percent=percent) for percent in (80.0, 81.0, 79.0, 80.0, 80.0)]
    (found,) = unusual(run(None, gpu_percent=40.0), alike, "12")
    assert found.id == "less_gpu_than_usual"
    assert found.text.startswith("this run leaves its GPUs idle for longer than usual: 60% of the time; ")
    assert not [*unusual(run(None, gpu_percent=99.0), alike, "12")]


@pytest.mark.parametrize(
    ("usual", "now"),
    [({"memory_peak": 2**28}, {"memory_peak": 2**29}), ({"gpu_percent": 96.0}, {"gpu_percent": 92.0})],
)
def test_a_difference_that_does_not_matter_is_not_worth_a_word(
    usual: dict[str, float], now: dict[str, float]
) -> None:
    assert not [*unusual(run(None, **now), [run(None, **usual)] * 5, "12")]


def test_memory_of_a_node_is_not_compared_with_that_of_a_step() -> None:
    of_steps = [run(None, memory_peak=2**30) for _ in EARLIER]
    measured = run(None, memory_peak=2**32, node_peak=2**32)
    assert not [*unusual(measured, of_steps, "12")]
    assert [
        each.id for each in unusual(measured, [each._replace(node_peak=2**30) for each in of_steps], "12")
    ]
    assert [each.id for each in unusual(measured._replace(node_peak=None), of_steps, "12")]


def test_a_wait_is_unusual_only_if_it_is_much_longer() -> None:
    alike = [run(None, submit_s=0, started_s=200)] * 5
    assert not [*unusual(run(None, submit_s=0, started_s=700), alike, "12")]
    assert [each.id for each in unusual(run(None, submit_s=0, started_s=900), alike, "12")] == [
        "longer_wait_than_usual"
    ]


def test_only_successful_runs_are_usual_and_only_first_attempts_have_a_usual_run_time() -> None:
    runs = [
        run(9.0, outcome="failure", run_s=5.0),
        run(1.0, run_s=100.0, first_progress_s=10.0),
        run(2.0, run_s=7.0, attempt=1),
        run(3.0, run_s=90.0, unit="epoch"),
        *[run(4.0, run_s=80.0)] * 9,
    ]
    found = usual_of(runs)
    assert (found.unit, found.step_s) == ("step", (1.0, 2.0, 4.0, 4.0, 4.0))
    assert found.run_s == (100.0, 90.0, 80.0, 80.0, 80.0)
    assert found.first_progress_s == (10.0,)


@pytest.mark.parametrize(
    ("starts", "timeout_s"),
    [
        ((200.0, 210.0, 190.0), 600.0),
        ((200.0, 210.0), None),  # too few
        ((10.0, 11.0, 12.0), 300.0),
        ((200.0, 210.0, 190.0, 1900.0, 180.0), 1900.0),  # which one of them needed
    ],
)
def test_a_run_is_late_after_three_times_the_usual_start(
    starts: tuple[float, ...], timeout_s: float | None
) -> None:
    assert Usual(first_progress_s=starts).launch_timeout_s == timeout_s


@pytest.mark.parametrize(
    ("run_s", "expected"),
    [
        ((100.0, 110.0, 105.0), (105.0,)),
        ((100.0, 180.0, 105.0), (100.0, 180.0)),  # they differ by more than 30 %
        ((100.0, 210.0, 105.0), ()),  # and by too much
        ((100.0, 110.0), ()),
        ((0.0, 0.0, 0.0), ()),
    ],
)
def test_a_run_time_is_expected_only_if_earlier_ones_agree(
    run_s: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    assert Usual(run_s=run_s).expected_run_s == expected
