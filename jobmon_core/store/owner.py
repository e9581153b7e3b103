"""Which process monitors a job, identified by host, boot and process start, never by a PID alone."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.json_file import encoded, read_record
from jobmon_core.system.files import (
    create_exclusive,
    failure_reason,
    time_of_files,
    write_atomically,
)
from jobmon_core.system.process import ProcessId, boot_id, start_ticks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Several heartbeats, and more than the clocks of two hosts differ where they date the files, as on Lustre:
# munge, and with it Slurm, refuses a host whose clock is five minutes off.
STALE_AFTER_S = 900.0


class Liveness(StrEnum):
    """Whether an owner runs, as far as this host can see."""

    ALIVE = "alive"
    DEAD = "dead"
    REMOTE = "elsewhere"  # on another host, with a recent heartbeat
    STALE = "stale"  # on another host, without a recent heartbeat


@dataclass(frozen=True, slots=True)
class Owner(ProcessId):
    """The process that monitors a job; its PID namespace is not recorded."""

    def __str__(self) -> str:
        return f"monitor {self.pid} on {self.host}"

    @classmethod
    def this_process(cls) -> Owner:
        """Return the identity of the calling process, as it was first asked for: the host may be renamed."""
        return _process(os.getpid())

    def liveness(
        self, heartbeat_s: float, stale_after_s: float, now: Callable[[], float] = time.time
    ) -> Liveness:
        """Return whether this owner runs, given its latest heartbeat (Unix seconds).

        A heartbeat older than ``stale_after_s`` counts no more. Neither does one in the far future: a dead
        owner would seem alive until then. ``now`` returns the time by the clock that dates heartbeats.
        """
        if self.host != os.uname().nodename:
            return Liveness.REMOTE if abs(now() - heartbeat_s) < stale_after_s else Liveness.STALE
        if self.boot_id != boot_id() or start_ticks(self.pid) != self.start_ticks:
            return Liveness.DEAD
        return Liveness.ALIVE


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The file that names the owner of a job; its modification time is the owner's heartbeat."""

    path: Path

    def write(self, owner: Owner) -> None:
        """Replace the owner.

        Raises:
            StorageFailed: the file cannot be written.
        """
        write_atomically(self.path, encoded(owner))

    def claim(self, claimant: Owner) -> None:
        """Make ``claimant`` the owner, unless another owner is alive.

        If several processes try at once, on any hosts, one succeeds. This needs no lock, since locks may not
        reach from host to host: a claimant creates a file whose name says which owner it succeeds, which only
        one can; if the owner has not changed meanwhile, the file becomes the record. A claimant that was
        killed in between is succeeded in the same way.

        Raises:
            AlreadyWatched: another owner is alive, or was faster.
            StorageFailed: a file cannot be written.
        """
        before = last = self.read()
        superseded: list[Path] = []
        while last is None or last[0] != claimant:
            self._refuse_living(last)
            successor = self._successor_of(last)
            if create_exclusive(successor.path, encoded(claimant)):
                self._succeed(successor.path, before)
                break
            superseded.append(successor.path)
            last = successor.read()
            if last is None:
                raise self._claimed_by_other()
        for path in superseded:
            _remove(path)

    def _succeed(self, successor: Path, before: tuple[Owner, float] | None) -> None:
        """Turn a successor's file into the record, if that still names the owner from before."""
        current = self.read()
        if (current and current[0]) != (before and before[0]):
            _remove(successor)
            raise self._claimed_by_other()
        try:
            successor.replace(self.path)
        except OSError as error:
            _remove(successor)
            reason = failure_reason(self.path, error)
            raise StorageFailed(f"{self.path} cannot be written: {reason}") from error

    def _refuse_living(self, record: tuple[Owner, float] | None) -> None:
        if record and record[0].liveness(record[1], STALE_AFTER_S, self.now) in (
            Liveness.ALIVE,
            Liveness.REMOTE,
        ):
            raise AlreadyWatched(f"{self._job} is watched by {record[0]}")

    def _claimed_by_other(self) -> AlreadyWatched:
        return AlreadyWatched(f"another monitor is adopting {self._job}")

    def _successor_of(self, record: tuple[Owner, float] | None) -> OwnerRecord:
        succeeded = f"{zlib.crc32(encoded(record[0])):08x}" if record else "first"
        return OwnerRecord(self.path.with_name(f"{self._job}.{succeeded}.heir"))

    @property
    def _job(self) -> str:
        return self.path.stem

    def now(self) -> float:
        """Return the time by the clock that dates heartbeats (Unix seconds)."""
        return time_of_files(self.path.parent)

    def read(self) -> tuple[Owner, float] | None:
        """Return the owner and its latest heartbeat (Unix seconds), None without a readable record."""
        return read_record(self.path, Owner)

    def heartbeat(self) -> bool:
        """Renew the heartbeat; return False without a record: another owner may have come and gone.

        Raises:
            AlreadyWatched: this monitor missed heartbeats for so long that another one adopted the job; it
                must stop watching it.
        """
        record = self.read()
        if record and record[0] != Owner.this_process():
            if record[0].liveness(record[1], STALE_AFTER_S, self.now) is not Liveness.DEAD:
                raise AlreadyWatched(f"{self._job} was adopted by {record[0]}")
            with suppress(StorageFailed):  # the other owner is dead and does no harm
                self.write(Owner.this_process())
        try:
            os.utime(self.path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # a full disk must not stop the monitor
        return True

    def remove(self) -> None:
        """Remove the record, unless it names another owner."""
        record = self.read()
        if record is None or record[0] == Owner.this_process():
            _remove(self.path)


def _remove(path: Path) -> None:
    with suppress(OSError):  # a file that stays does no harm
        path.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _process(pid: int) -> Owner:
    del pid  # the key of the cache: a fork changes it
    return replace(Owner.current(), pid_namespace="")
