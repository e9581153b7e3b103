"""A killed agent is no killed process of the task."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.overhead_parts.long_run import watch_many
from jobmon_core.agent.measure import kills_of_agents
from jobmon_core.domain.node.telemetry.model import AgentReport, Memory, Sample, Worker, WorkerStatus

_LIVING = (7, 8)
_KILLED = AgentReport(Sample(workers=(Worker(7), Worker(8)), memory=Memory(9, 10, 2, "cgroup v2", 1)))
_ENDED_WELL = replace(_KILLED, ended_s=100.0)


@pytest.mark.parametrize(
    ("earlier", "kills", "living", "of_agents"),
    [
        pytest.param(_KILLED, 4, _LIVING, 2, id="the agent"),
        pytest.param(_KILLED, 6, _LIVING, 4, id="the agent and some that died at their start"),
        pytest.param(_KILLED, 5, (7,), 2, id="the agent and a worker"),
        pytest.param(_KILLED, 3, (7,), 1, id="nothing was killed"),
        pytest.param(_ENDED_WELL, 4, _LIVING, 1, id="a process of the task between two agents"),
        pytest.param(_KILLED, 0, _LIVING, 0, id="another cgroup"),
        pytest.param(AgentReport(), 3, _LIVING, 0, id="the first agent"),
    ],
)
def test_what_was_killed_while_no_agent_looked(
    earlier: AgentReport, kills: int, living: tuple[int, ...], of_agents: int
) -> None:
    assert kills_of_agents(earlier, kills, living) == of_agents


def test_a_worker_that_had_ended_before_does_not_count() -> None:
    workers = (Worker(7), Worker(8, status=WorkerStatus.DEAD))
    earlier = replace(_KILLED, latest=replace(_KILLED.latest, workers=workers))
    assert kills_of_agents(earlier, 5, (7,)) == 3


_HOURS = 0.3  # of a clock that jumps over each wait
_ROUNDS_AT_LEAST = 1000
# by the wall clock: on a machine that does much else, single rounds take as long as that makes them wait
_USUAL_S, _MOSTLY_S, _PERCENT = 0.2, 5.0, 99
_GROWTH = 0.05  # of the memory within half of that time, in which an agent still fills what it keeps


@pytest.mark.skipif(
    not (shutil.which("gcc") or shutil.which("cc")), reason="no C compiler for the fake driver"
)
def test_a_round_over_many_workers_is_short_and_the_memory_stays_as_it_is(tmp_path: Path) -> None:
    run = watch_many(_HOURS, tmp_path)
    assert len(run.rounds_s) >= _ROUNDS_AT_LEAST
    assert statistics.median(run.rounds_s) < _USUAL_S
    assert statistics.quantiles(run.rounds_s, n=100)[_PERCENT - 1] < _MOSTLY_S
    assert run.growth < _GROWTH
