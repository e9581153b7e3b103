"""Runs of a program that computes, alternately alone and with an agent beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_parts.processes import cpu, memory
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command

_WORK = "import sys\nfor _ in range(int(sys.argv[1])): sum(range(100_000))\n"
_TRIAL = 200  # rounds of that, to learn how long one takes


@dataclass(frozen=True, slots=True)
class Triple:
    """What three runs took, one after the other: alone, beside an agent, alone."""

    before_s: float
    beside_s: float
    after_s: float
    cpu: float  # of the agent: seconds of CPU time for each second on one core
    pss_kb: int  # of the agent

    @property
    def ratio(self) -> float:
        """The time beside an agent, as a multiple of the mean of the two times alone."""
        return 2 * self.beside_s / (self.before_s + self.after_s)

    @property
    def noise(self) -> float:
        """The same ratio for the two runs without agent: how much the machine itself varies."""
        return self.after_s / self.before_s


def measure_triples(count: int, seconds: float, folder: Path) -> list[Triple]:
    """Run ``count`` triples, each run of about ``seconds``; the last run of one is the first of the next."""
    rounds = max(1, int(_TRIAL * seconds / _run(_TRIAL)))
    triples, before_s = [], _run(rounds)
    for index in range(count):
        beside_s, spent_s, pss_kb = _run_beside(rounds, folder / str(index))
        after_s = _run(rounds)
        triples.append(Triple(before_s, beside_s, after_s, spent_s / beside_s, pss_kb))
        before_s = after_s
    return triples


def _run_beside(rounds: int, folder: Path) -> tuple[float, float, int]:
    """Return the seconds that the program takes beside an agent, and its CPU time (s) and PSS (kB)."""
    folder.mkdir(parents=True)
    started_s = time.perf_counter()
    with ExitStack() as stack:
        workers = _start(rounds, stack)
        options = AgentOptions(str(folder), pids=tuple(each.pid for each in workers), node="n1")
        agent = stack.enter_context(subprocess.Popen([sys.executable, *agent_command(options)]))
        stack.callback(agent.kill)
        workers[0].wait()
        pss_kb, spent = memory(agent.pid).pss, cpu(agent.pid)
        for worker in workers:
            worker.wait()
        seconds = time.perf_counter() - started_s
    return seconds, spent.own_s + spent.children_s, pss_kb


def _run(rounds: int) -> float:
    """Return the seconds that the program takes alone."""
    started_s = time.perf_counter()
    with ExitStack() as stack:
        for worker in _start(rounds, stack):
            worker.wait()
    return time.perf_counter() - started_s


def _start(rounds: int, stack: ExitStack) -> Sequence[subprocess.Popen[bytes]]:
    """Start the program on every core."""
    argv = (sys.executable, "-c", _WORK, str(rounds))
    return [stack.enter_context(subprocess.Popen(argv)) for _ in range(os.cpu_count() or 1)]
