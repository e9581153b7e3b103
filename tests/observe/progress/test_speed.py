"""The speed of a job by its log: only one of the same unit as its count, else by the time of its lines."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.log.values import stamp_s
from tests.observe.progress.test_reader import read, values


def _iterations(*rest: str) -> str:
    return "".join(
        f"Learning iteration {n}/3000\n" + "".join(f"{line}\n" for line in rest) for n in (2, 3, 4)
    )


def test_steps_of_an_environment_are_no_speed_of_iterations() -> None:
    assert values(_iterations("Computation: 98002 steps/s"), rate_per_s=0) == {"rate_per_s": None}
    log = _iterations("Computation: 98002 steps/s", "Iteration time: 2.00s")
    assert values(log, current=0, rate_per_s=0) == {"current": 4, "rate_per_s": 0.5}


def test_the_same_word_or_an_agreeing_time_of_a_step_makes_a_speed_count() -> None:
    assert values(_iterations("speed: 3.5 it/s"), rate_per_s=0) == {"rate_per_s": 3.5}
    assert values("step 3/900 at 2.5 steps/s\nstep 4/900 at 2.5 steps/s\n", rate_per_s=0) == {
        "rate_per_s": 2.5
    }
    assert values("step 4/900 loss 1.0\nstep time: 0.4 s, 2.4 steps/s\n", rate_per_s=0) == {"rate_per_s": 2.4}
    assert values("step 4/900 loss 1.0\nstep time: 0.4 s, 900 steps/s\n", rate_per_s=0) == {"rate_per_s": 2.5}


@pytest.mark.parametrize(
    ("lines", "rate_per_s"),
    [
        (["2026-01-02 23:59:00,100 Query 1/48: A", "2026-01-03 00:19:00,100 Query 3/48: C"], 2 / 1200),
        (["[2026/01/02 10:00:00] step 10/900 loss 1", "[2026/01/02 10:00:50] step 110/900 loss 1"], 2.0),
        (["2026-01-02T10:00:00 Epoch 1/9 done", "2026-01-02T10:00:50 Epoch 2/9 done"], 0.02),
        (["10:00:00 step 10/900 loss 1", "10:00:50 step 110/900 loss 1"], None),  # of which day?
        (["2026-01-02 10:00:50 step 10/900 loss 1", "2026-01-02 10:00:00 step 110/900 loss 1"], None),
    ],
)
def test_without_a_printed_speed_the_time_stamps_of_the_lines_give_one(
    lines: list[str], rate_per_s: float | None
) -> None:
    progress = read("\n".join(lines) + "\n")
    assert progress is not None
    assert progress.rate_per_s == (None if rate_per_s is None else pytest.approx(rate_per_s))


def test_time_stamps_give_the_speed_of_the_whole_job_over_epochs() -> None:
    log = "".join(
        f"2026-01-02 10:0{epoch}:{n // 2:02} Epoch {epoch}/5, step {n}/100, loss 1\n"
        for epoch in (1, 2)
        for n in range(10, 101, 10)
    )
    progress = read(log)
    assert progress is not None
    assert (progress.current, progress.total) == (200, 500)
    assert progress.rate_per_s == pytest.approx(190 / 105)


@pytest.mark.parametrize(
    "text",
    ["2026-13-01 10:00:00", "2026-00-01 10:00:00", "on 2026-01-02", "12:00:00", "2026-01-02 10:00:001"],
)
def test_other_numbers_are_no_time_stamp(text: str) -> None:
    assert stamp_s(text) is None
