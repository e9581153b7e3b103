"""Start an agent on this host, beside processes that run here."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from jobmon_core.domain.node.telemetry.agent import agent_command, killed_first
from jobmon_core.scheduler.base import AgentLaunch

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import AgentRequest


def agent_on_host(request: AgentRequest, *pids: int) -> tuple[AgentLaunch, ...]:
    """Return how to start an agent for processes and their descendants; nothing if there is no process."""
    if not pids:
        return ()
    options = request.options._replace(pids=pids, node=request.task.nodes)
    command = killed_first((sys.executable, *agent_command(options)))
    return (AgentLaunch((command,), signal.SIGTERM),)
