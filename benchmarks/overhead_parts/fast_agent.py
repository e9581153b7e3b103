"""Run an agent by a clock that does not wait; the arguments are HOURS, FOLDER and the PIDs of the task.

It prints what it measures of itself at once, one JSON object a line: ``round_s``, the time of a round, or
``hours``, ``private`` and ``pss``, its memory in KiB after so many hours. It keeps none of it, since that
would look like memory that the agent takes.
"""

from __future__ import annotations

import json
import os
import sys
import time

from benchmarks.load_parts.processes import memory
from jobmon_core.agent.loop import Agent, AgentClock
from jobmon_core.domain.node.telemetry.agent import AgentOptions
from jobmon_core.system.clock import Wake

LEVELS = 24  # how often its memory is measured


class FastClock(AgentClock):
    """A clock that jumps over each wait, and times what the agent does between two of them."""

    def __init__(self, hours: float) -> None:
        """Start now; ask the agent to end after ``hours``."""
        self._now_s = self._started_s = time.time()
        self._hours = hours
        self._levels = 0
        self._resumed_s: float | None = None  # None: the agent is still starting

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return self._now_s

    def wait(self, seconds: float) -> Wake:
        """Jump over ``seconds``."""
        if self._resumed_s is not None:
            print(json.dumps({"round_s": round(time.perf_counter() - self._resumed_s, 5)}))
        self._now_s += seconds
        passed = (self._now_s - self._started_s) / 3600
        if passed >= self._hours * (self._levels + 1) / LEVELS:
            self._levels += 1
            used = memory(os.getpid())
            print(json.dumps({"hours": round(passed, 3), "private": used.private, "pss": used.pss}))
        self._resumed_s = time.perf_counter()
        return Wake.DUE if passed < self._hours else Wake.TERMINATE


def _main(hours: str, folder: str, *pids: str) -> None:
    Agent(AgentOptions(folder, pids=tuple(map(int, pids)), node="n1"), FastClock(float(hours))).run()


if __name__ == "__main__":
    _main(*sys.argv[1:])
