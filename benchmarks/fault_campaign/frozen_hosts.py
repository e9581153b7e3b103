"""Monitors that freeze with their host, are succeeded by monitors of other hosts, and run again later."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from random import Random

from benchmarks.fault_campaign.forkserver import MonitorProcesses
from benchmarks.fault_campaign.member import CampaignContext
from jobmon_core.context import Context
from jobmon_core.store.owner import STALE_AFTER_S

# the longest time until a frozen monitor runs again (seconds): before its successor is done, or after that
_EARLY_S, _LATE_S = 0.05, 3.0
_STOPPED = "T"


@dataclass(slots=True)
class FrozenHosts:
    """The monitors that are frozen, and what became of their jobs."""

    ctx: CampaignContext
    processes: MonitorProcesses
    # starts a monitor with a host name for these jobs; returns it, or None if it got none of them
    start: Callable[[str, Collection[str]], ForkServerProcess | None]
    random: Random
    count: int = 0  # so far
    overtaken: set[str] = field(default_factory=set)  # messages that were in flight
    # the successor of each frozen monitor, and when the frozen one runs again at the latest
    frozen: dict[ForkServerProcess, tuple[ForkServerProcess | None, float]] = field(default_factory=dict)

    def freeze(self, process: ForkServerProcess) -> None:
        """Freeze a monitor with all that it has forked; `advance` notices it."""
        if process.pid:
            os.killpg(process.pid, signal.SIGSTOP)

    def advance(self) -> None:
        """Give the jobs of each newly frozen monitor to another host; let the others run again when due."""
        for process, spec in list(self.processes.running.items()):
            if process not in self.frozen and process.pid and _state(process.pid) == _STOPPED:
                self.count += 1
                limit_s = self.random.choice((_EARLY_S, _LATE_S))
                successor = self._succeed(process.pid, spec.job_ids)
                self.frozen[process] = successor, time.monotonic() + limit_s
        for process, (successor, until_s) in list(self.frozen.items()):
            is_done = successor is not None and not successor.is_alive()
            if is_done or time.monotonic() >= until_s:
                if process.pid:
                    with suppress(ProcessLookupError):  # what it forked may outlive it, and then ends
                        os.killpg(process.pid, signal.SIGCONT)
                del self.frozen[process]

    def silence(self, host: str, job_ids: Collection[str]) -> None:
        """Let the owners of these jobs on another host seem silent for long, as after its end."""
        for job_id in job_ids:
            record = self.ctx.owner_record(job_id)
            if (owner := record.read()) and owner[0].host == host:
                _make_stale(record.path)
                self.overtaken |= in_flight(self.ctx, job_id, moves=True)

    def _succeed(self, pid: int, job_ids: Collection[str]) -> ForkServerProcess | None:
        owned = []
        for job_id in job_ids:
            record = self.ctx.owner_record(job_id)
            if (owner := record.read()) and owner[0].pid == pid:
                _make_stale(record.path)
                self.ctx.home.lock_file(job_id).unlink(missing_ok=True)  # its lock does not reach other hosts
                owned.append(job_id)
                self.overtaken |= in_flight(self.ctx, job_id, moves=True)
        return self.start(f"login{self.count}", owned) if owned else None


def in_flight(ctx: Context, job_id: str, *, moves: bool) -> set[str]:
    """Return the messages of a job that may arrive although their monitor does not run any more.

    They are being sent or, if a monitor of another host succeeds (``moves``), they are offered to digests:
    each host has a queue of its own, so that the successor cannot take back the offer.
    """
    return {
        entry.message.id
        for entry in ctx.store.load(job_id).outbox
        if entry.attempt_since_s is not None or (moves and entry.offered_s is not None)
    }


def _make_stale(record: Path) -> None:
    os.utime(record, (0, time.time() - 2 * STALE_AFTER_S))


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
