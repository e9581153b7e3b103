"""The agents of one run of a task: their processes, and what is new in their reports.

Each process on this host is an agent, or a ``srun`` or ``ssh`` that runs one. They outlive the monitor that
started them; the next monitor finds them by their record.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.tracking.agent_plan import silent_after_s
from jobmon_core.store.telemetry import AgentRecord
from jobmon_core.system.process import ProcessId, ProcessStatus
from jobmon_core.system.runner import start_beside

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jobmon_core.store.telemetry import TaskTelemetry
    from jobmon_core.system.files import Stamp

_STOP_STEP_S = 10.0  # after each signal, before the next, harder one
_STOP_STEP_ENDED_S = 2.0  # the same for a task that has ended: nothing may hold its nodes
_REMOTE_S = 60.0  # an agent that a monitor on another host started must report within this time
_NEVER = float("-inf")


@dataclass(slots=True)
class TaskAgent:
    """The agents of one task. Times are Unix seconds by the clock of this host; those of nodes may differ."""

    telemetry: TaskTelemetry
    processes: AgentProcesses
    nodes: tuple[str, ...]  # of the task; at least one
    found_s: float  # when this monitor began to look at them
    record: AgentRecord
    reports: dict[str, tuple[Stamp, float]] = field(default_factory=dict)  # by node: stamp, when it was new
    since_s: float | None = None  # since when all nodes report
    end_hint_s: float | None = None
    is_urgent: bool = False  # as in `Reports`
    logged: str = ""  # why there is no agent, as last written to the log
    _suspicious_log_s: float = 0.0  # the latest of all reports, by the clocks of the nodes
    _ending: set[str] = field(default_factory=set)  # nodes whose end was announced
    _stops: int = 0
    _stop_s: float = _NEVER

    @property
    def is_running(self) -> bool:
        """Whether its processes were running at the last look."""
        return bool(self.record.processes)

    @property
    def is_stopping(self) -> bool:
        """Whether its processes were asked to end."""
        return self._stops > 0

    @property
    def has_reported(self) -> bool:
        """Whether it has reported since its start."""
        return any(seen_s > _NEVER for _, seen_s in self.reports.values())

    def save(self, record: AgentRecord) -> None:
        """Replace the record; on a full disk, only in memory."""
        if record != self.record:
            self.record = record
            with suppress(StorageFailed):  # a later monitor would then start another agent, which replaces it
                self.telemetry.record.write(record)

    def expect_new_reports(self) -> None:
        """Treat the reports that exist now as old ones."""
        self.reports, self.since_s, self.end_hint_s, self._stops = {}, None, None, 0
        for node in self.telemetry.nodes():
            if signs := self.telemetry.signs(node):
                self.reports[node] = (signs.stamp, _NEVER)
                self._suspicious_log_s = max(self._suspicious_log_s, signs.suspicious_log_s)

    def look(self, now_s: float, interval_s: float, *, all_nodes: bool = False) -> bool:
        """Look at the latest reports, by default of the first node.

        Return whether one of them newly hints at an end, or at an error in a log, or an agent fell silent.
        """
        has_news = False
        for node in self.telemetry.nodes() if all_nodes else self.nodes[:1]:
            has_news |= self._read(node, now_s)
        before, silent_s = self.since_s, silent_after_s(interval_s)
        heard = {node for node, (_, seen_s) in self.reports.items() if now_s - seen_s < silent_s}
        if all_nodes or len(self.nodes) == 1:
            self.since_s = (before or now_s) if len(heard) >= len(self.nodes) else None
        elif self.nodes[0] not in heard:  # this look does not show whether the others are silent
            self.since_s = None
        return has_news or (before is not None and self.since_s is None)

    def _read(self, node: str, now_s: float) -> bool:
        signs = self.telemetry.signs(node)
        if signs is None or (node in self.reports and self.reports[node][0] == signs.stamp):
            return False
        self.reports[node] = (signs.stamp, now_s)
        is_urgent = signs.suspicious_log_s > self._suspicious_log_s
        self._suspicious_log_s = max(self._suspicious_log_s, signs.suspicious_log_s)
        if signs.has_notice and node not in self._ending:
            self._ending.add(node)
            is_urgent = True
        self.is_urgent |= is_urgent
        # on the other nodes, processes come and go with the steps of the job
        return (node == self.nodes[0] and self._is_new_end(now_s, has_ended=signs.has_ended)) or is_urgent

    def _is_new_end(self, now_s: float, *, has_ended: bool) -> bool:
        """Note whether the first node has no process of the task; return whether that is new."""
        before = self.end_hint_s
        self.end_hint_s = (before or now_s) if has_ended else None
        return has_ended and before is None

    def notice_end(self, now_s: float) -> bool:
        """Return whether a process has ended since the last look, or those on another host do not report.

        If so, kill the others.
        """
        statuses = [self.processes.status(each) for each in self.record.processes]
        has_ended = ProcessStatus.EXITED in statuses or ProcessStatus.REBOOTED in statuses
        is_lost = (
            ProcessStatus.REMOTE in statuses and self.since_s is None and now_s - self.found_s > _REMOTE_S
        )
        if not has_ended and not is_lost:
            return False
        problem, is_short = failure_text(self.telemetry.error_text()), self._lacked_memory()
        self._send(signal.SIGKILL)
        attempts = self.record.attempts.after_end(now_s, problem, is_memory_short=is_short)
        self.save(AgentRecord(attempts=attempts))
        if self.has_reported:  # else no agent has seen the task
            self.end_hint_s = now_s
        self.since_s = None
        return True

    def _lacked_memory(self) -> bool:
        """Whether the latest report of a node showed that little memory was left, and did not report an end.

        If the latest agent could not even start for lack of memory, the report is that of an earlier one.
        """
        signs = [self.telemetry.signs(node) for node in self.telemetry.nodes()]
        return any(each is not None and each.is_memory_short and not each.has_ended for each in signs)

    def stop(self, now_s: float, *, has_ended: bool) -> None:
        """End the agents: first in good order, at later calls by SIGTERM and SIGKILL.

        ``has_ended``: the task has, so that SIGTERM comes first and SIGKILL soon.
        """
        if not self.is_running or now_s - self._stop_s < (_STOP_STEP_ENDED_S if has_ended else _STOP_STEP_S):
            return
        signals = (self.record.stop_signal, signal.SIGTERM, signal.SIGKILL)[1 if has_ended else 0 :]
        self._send(signals[min(self._stops, len(signals) - 1)])
        self._stops, self._stop_s = self._stops + 1, now_s
        if not any(self._runs()):
            self.save(AgentRecord(attempts=self.record.attempts))

    def end_now(self) -> None:
        """Kill the processes, which belong to an earlier run of the task."""
        self._send(signal.SIGKILL)

    def _runs(self) -> list[bool]:
        return [self.processes.status(each) is ProcessStatus.RUNNING for each in self.record.processes]

    def _send(self, number: int) -> None:
        for process in self.record.processes:
            self.processes.send(process, number)


_MAX_CHARS = 400  # of a reason


class AgentProcesses:
    """Starts, finds and stops such processes; tests replace it."""

    def start(self, argv: Sequence[str], error_file: Path) -> ProcessId:
        """Start a process, whose error output goes to a file; OSError if it cannot be started."""
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
