"""The processes on this host behind the agents: each is an agent, or a ``srun`` or ``ssh`` that runs one.

They outlive the monitor that started them; the next monitor finds them by their record.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.system.process import ProcessId, ProcessStatus
from jobmon_core.system.runner import start_beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MAX_CHARS = 400  # of a reason


class AgentProcesses:
    """Starts, finds and stops such processes; tests replace it."""

    def start(self, argv: Sequence[str], error_file: Path) -> ProcessId:
        """Start a process; its error output goes to a file.

        Raises:
            OSError: it cannot be started.
        """
        return ProcessId.of(start_beside(argv, error_file))

    def status(self, process: ProcessId) -> ProcessStatus:
        """Return whether a process runs, and reap it if it has ended."""
        status = process.status(ProcessId.of(os.getpid()))
        if status is ProcessStatus.EXITED:
            with suppress(ChildProcessError):  # another monitor started it
                os.waitpid(process.pid, os.WNOHANG)
        return status

    def send(self, process: ProcessId, number: int) -> None:
        """Send a signal to a process of this host, if it still runs."""
        if self.status(process) is ProcessStatus.RUNNING:
            with suppress(ProcessLookupError, PermissionError):  # it has just ended
                os.kill(process.pid, signal.Signals(number))


def failure_text(output: str) -> str:
    """Return why a process of an agent ended, by its error output, in one line."""
    lines = list(dict.fromkeys(line.strip() for line in output.splitlines() if line.strip()))
    if "Traceback (most recent call last):" in lines:
        return f"it failed: {lines[-1]}"[:_MAX_CHARS]
    return "; ".join(lines)[:_MAX_CHARS] or "it ended without a message"
