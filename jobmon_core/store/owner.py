"""Who watches a job: told apart by host, boot and process start, never by a pid alone."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from jobmon_core.store.codec import Mismatch, from_json, to_json
from jobmon_core.store.files import read_own, write_atomically
from jobmon_core.store.process import start_ticks

_AT_MOST = 64 * 1024


class Life(StrEnum):
    """What can be said of an owner from here."""

    ALIVE = "alive"
    DEAD = "dead"
    ELSEWHERE = "elsewhere"  # on another host, and fresh signs of it
    STALE = "stale"  # on another host, and no sign of it for long


@dataclass(frozen=True, slots=True)
class Owner:
    """One process on one host since one boot."""

    host: str
    boot_id: str
    pid: int
    start_ticks: int  # since boot, in clock ticks

    @classmethod
    def this_process(cls) -> Owner:
        """Return the identity of the calling process; it survives an exec."""
        pid = os.getpid()
        return cls(os.uname().nodename, _boot_id(), pid, start_ticks(pid) or 0)

    def life(self, heartbeat_s: float, stale_after_s: float) -> Life:
        """Say whether this owner lives; ``heartbeat_s`` is when it last gave a sign (Unix seconds)."""
        if self.host != os.uname().nodename:
            return Life.ELSEWHERE if time.time() - heartbeat_s < stale_after_s else Life.STALE
        if self.boot_id != _boot_id() or start_ticks(self.pid) != self.start_ticks:
            return Life.DEAD
        return Life.ALIVE


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The file that names an owner; its modification time is the owner's heartbeat."""

    path: Path

    def write(self, owner: Owner) -> None:
        """Name the owner.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self.path, json.dumps(to_json(owner)).encode())

    def read(self) -> tuple[Owner, float] | None:
        """Return the owner and its last heartbeat; None where nobody was named."""
        try:
            owner = from_json(Owner, json.loads(read_own(self.path, _AT_MOST)))
            return owner, self.path.stat().st_mtime
        except (OSError, ValueError, RecursionError, Mismatch):
            return None  # nobody, or nobody who can be told: the lock decides who may run

    def beat(self) -> None:
        """Give a sign of life."""
        try:
            os.utime(self.path)
        except OSError:
            return  # a full disk or a removed record must not end the monitoring

    def remove(self) -> None:
        """Leave no owner behind."""
        self.path.unlink(missing_ok=True)


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
