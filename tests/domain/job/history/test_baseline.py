"""A run stands out only where those before it agree."""

from __future__ import annotations

import random

import pytest

from jobmon_core.domain.job.history.baseline import is_unusual, unusual
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
        "this run is slower than usual: 2 s per step; the last 5 took 1 s, 1.0 s, 0.98 s, 1.0 s, 0.99 s"
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
