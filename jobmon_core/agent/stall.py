"""Take the stacks of the task's processes on this node when the monitor asks for them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.agent.background import Background
from jobmon_core.store.telemetry import STALL, WANTED

if TYPE_CHECKING:
    from jobmon_core.domain.telemetry.agent_command import AgentOptions

_TIMEOUT_S = 60.0


class StallStacks:
    """Answers each request once, by a process of its own that runs beside the agent's loop."""

    def __init__(self, options: AgentOptions, node: str) -> None:
        """Answer no request yet; ``node`` is the name of this node."""
        self._options, self._node = options, node
        self._folder = Path(options.folder) / STALL
        self._taking = Background()
        self._answered_ns = 0

    def look(self) -> None:
        """Answer a new request."""
        try:
            asked_ns = (self._folder / WANTED).stat().st_mtime_ns
        except OSError:
            return
        if asked_ns == self._answered_ns or self._has_answer(asked_ns):
            return
        self._answered_ns = asked_ns
        self._taking.run(self._take, 0.0)

    def _has_answer(self, asked_ns: int) -> bool:
        """Whether an earlier agent has answered."""
        try:
            return (self._folder / f"{self._node}.json").stat().st_mtime_ns >= asked_ns
        except OSError:
            return False

    def _take(self) -> None:
        from jobmon_core.domain.triage.stacks import command  # rarely needed, and an agent must stay small
        from jobmon_core.system.runner import Runner

        options = self._options
        arguments = command(options.pids, options.job_id, str(self._folder), self._node)
        Runner().capture((sys.executable, *arguments), _TIMEOUT_S)
