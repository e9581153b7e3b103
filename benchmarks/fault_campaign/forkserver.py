"""The monitor processes of a campaign, started by a fork server.

The fork server has one thread, unlike the campaign with its fake Discord, and has imported everything: a
copy of it starts in milliseconds, where a new interpreter needs a good part of a second.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess

from benchmarks.fault_campaign.member import MonitorSpec, run_monitor

# what monitors and their forks import later, in each of hundreds of processes
_IMPORTED_LATER = (
    *("analysis.done", "analysis.ending.bundle", "analysis.ending.core_dumps", "analysis.ending.history"),
    *("analysis.ending.measured_use", "analysis.ending.outputs", "analysis.ending.run_changes"),
    *("analysis.explain", "analysis.explainer", "analysis.progress", "analysis.tracker_servers"),
    *("domain.messages.job_ended", "domain.messages.progress_alerts", "monitor.recording"),
    *("notify.attached", "notify.discord.channel", "notify.discord.payload", "notify.discord.responses"),
    "system.http",
)
_PRELOAD = ["benchmarks.faults", "requests", *(f"jobmon_core.{name}" for name in _IMPORTED_LATER)]
_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(_PRELOAD)


@dataclass(slots=True)
class MonitorProcesses:
    """The processes that run, and how many ended by SIGKILL so far."""

    running: dict[ForkServerProcess, MonitorSpec] = field(default_factory=dict)
    killed: int = 0

    def start(self, spec: MonitorSpec) -> tuple[ForkServerProcess, tuple[str, ...]]:
        """Start a monitor; return it, and the jobs that it acquired."""
        receiver, sender = _FORKSERVER.Pipe(duplex=False)
        process = _FORKSERVER.Process(target=run_monitor, args=(spec, sender))
        process.start()
        sender.close()
        self.running[process] = spec
        with receiver:
            job_ids: tuple[str, ...] = receiver.recv()
        return process, job_ids

    def reap(self) -> list[MonitorSpec]:
        """Forget the processes that ended, and count those that were killed; return those that ended.

        One that was killed right after it froze leaves what it just forked frozen, perhaps with its locks:
        that runs on, since no host stays frozen without its end.
        """
        ended = [process for process in self.running if not process.is_alive()]
        for process in ended:
            if process.pid:
                with suppress(ProcessLookupError):  # nothing is left
                    os.killpg(process.pid, signal.SIGCONT)
        self.killed += sum(process.exitcode == -signal.SIGKILL for process in ended)
        return [self.running.pop(process) for process in ended]

    def close(self) -> None:
        """Kill every monitor that runs, with what it forked."""
        for process in self.running:
            process.kill()
            if process.pid:
                with suppress(ProcessLookupError):  # it has not begun, and has forked nothing
                    os.killpg(process.pid, signal.SIGKILL)
            process.join()
