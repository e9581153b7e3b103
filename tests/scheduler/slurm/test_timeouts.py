"""How long Slurm's commands may take."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobmon_core.domain.slurm.rows import NO_HURRY_S
from jobmon_core.scheduler.slurm.client import TIMEOUT_S, SlurmScheduler
from tests.support.fake_runner import Answer, FakeRunner
from tests.support.recordings import recorded


class Stopwatch(FakeRunner):
    """Notes how long each command may take, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.given_s: list[float] = []

    def capture(self, argv: Sequence[str], timeout_s: float) -> Answer:
        self.given_s.append(timeout_s)
        return super().capture(argv, timeout_s)


@pytest.mark.parametrize(("within_s", "given_s"), [(7.0, 7.0), (NO_HURRY_S, TIMEOUT_S), (900.0, TIMEOUT_S)])
def test_sacct_gets_the_callers_time_limit_up_to_that_of_any_command(within_s: float, given_s: float) -> None:
    runner = Stopwatch()
    runner.on("sacct", answers=[recorded("accounting")])
    SlurmScheduler(runner).ask_accounting([1], within_s)
    assert runner.given_s == [given_s]
