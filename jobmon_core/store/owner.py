"""Which process monitors a job: its lock, the record that names it, and the requests to it."""

from __future__ import annotations

import os
import signal
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
    blocking_file,
    create_exclusive,
    discard_unfinished,
    failure_reason,
    time_of_files,
    touch_private,
    write_atomically,
)
from jobmon_core.system.lock import acquire
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from jobmon_core.store.home import Home

# 15 missed heartbeats, and more than the clocks of two hosts differ: on some file systems, such as Lustre,
# the host that writes a file dates it. Munge, and with it Slurm, rejects a host that is five minutes off.
STALE_AFTER_S = 900.0
CLAIM_SUFFIX = ".heir"  # the file of a claimant; fixed, because hosts with different versions may compete


class Health(StrEnum):
    """The state of a job's monitor, as seen from this host."""

    ALIVE = "alive"
    DEAD = "dead"  # it ended too early, or there is none: `jobmon recover` starts one
    STALE = "stale"  # on another host, without a recent heartbeat
    REMOTE = "elsewhere"  # on another host, with a recent heartbeat
    DONE = "done"  # the job needs no monitor any more

    @property
    def is_lost(self) -> bool:
        """Whether the job still needs a monitor, and has none that gives a sign of life."""
        return self in (Health.DEAD, Health.STALE)


@dataclass(frozen=True, slots=True)
class Owner(ProcessId):
    """The process that monitors a job; its PID namespace is not recorded."""

    def __str__(self) -> str:
        return f"monitor {self.pid} on {self.host}"

    @classmethod
    def this_process(cls) -> Owner:
        """Return the calling process as of the first call: the host may be renamed later."""
        return _process(os.getpid())

    def health(self, heartbeat_s: float = 0.0, now: Callable[[], float] = time.time) -> Health:
        """Return whether this owner runs, given its latest heartbeat (Unix seconds); never `Health.DONE`.

        A heartbeat in the far future counts as none: a dead owner would seem alive until then. ``now``
        returns the time by the clock that dates heartbeats.
        """
        if self.host != os.uname().nodename:
            return Health.REMOTE if abs(now() - heartbeat_s) < STALE_AFTER_S else Health.STALE
        runs = self.status(Owner.this_process()) is ProcessStatus.RUNNING
        return Health.ALIVE if runs else Health.DEAD

    def wake(self) -> None:
        """Make this monitor, which runs on this host, look at all its jobs now."""
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(self.pid, signal.SIGUSR1)


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The file that names the owner of a job; its modification time is the owner's heartbeat."""

    path: Path

    def write(self, owner: Owner) -> None:
        """Replace the owner."""
        write_atomically(self.path, encoded(owner))

    def claim(self, claimant: Owner) -> bool:
        """Make ``claimant`` the owner; return whether there was another, dead one.

        If several processes try at once, on any hosts, at most one succeeds. This needs no lock: a claimant
        creates a file whose name says which owner it succeeds, and only one process can create that file. If
        the owner has not changed meanwhile, the file becomes the record. A killed claimant is succeeded in
        the same way. AlreadyWatched if another owner is alive, or was faster.
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
        return before is not None and before[0] != claimant

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
            raise StorageFailed(
                f"{self.path} cannot be written: {failure_reason(self.path, error)}"
            ) from error

    def _refuse_living(self, record: tuple[Owner, float] | None) -> None:
        living = (Health.ALIVE, Health.REMOTE)
        if record and record[0].health(record[1], self.now) in living:
            raise AlreadyWatched(f"{self._job} is watched by {record[0]}")

    def _claimed_by_other(self) -> AlreadyWatched:
        return AlreadyWatched(f"another monitor is adopting {self._job}")

    def _successor_of(self, record: tuple[Owner, float] | None) -> OwnerRecord:
        succeeded = f"{zlib.crc32(encoded(record[0])):08x}" if record else "first"
        return OwnerRecord(self.path.with_name(f"{self._job}.{succeeded}{CLAIM_SUFFIX}"))

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

        AlreadyWatched if this monitor missed heartbeats and another one adopted the job: stop watching it.
        """
        record = self.read()
        if record and record[0] != Owner.this_process():
            if record[0].health(record[1], self.now) is not Health.DEAD:
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

    def check(self) -> None:
        """Check that this process is the owner, else raise AlreadyWatched.

        StorageFailed if another one may have been the owner meanwhile, so that the state must be read again.
        """
        if not self.heartbeat():
            raise StorageFailed(f"{self._job} has no owner record, so its state must be read again")

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


def acquire_job(path: Path) -> int:
    """Lock a job, make this process its owner, and return the descriptor of the lock.

    If there was another owner, and it is only frozen, it can no longer replace the state file: it finds the
    new owner's name or, if it had looked just before, not the file that it was about to put in place.

    The lock survives an exec, and the kernel releases it when the process ends for whatever reason. The owner
    record beside the lock file decides where the lock has no effect: between hosts on some file systems, and
    everywhere on a file system without locks. AlreadyWatched if another process owns the job.
    """
    descriptor = acquire(path)
    if descriptor is None:
        raise AlreadyWatched(f"{path.stem} is already watched")
    try:
        if OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process()):
            discard_unfinished(path.parent.parent, (f"{path.stem}.json",))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def acquire_jobs(home: Home, state_ids: Iterable[str]) -> dict[str, int]:
    """Lock those of these jobs that have no owner; return state id -> descriptor of the lock."""
    locks = {}
    for state_id in state_ids:
        with suppress(AlreadyWatched):
            locks[state_id] = acquire_job(home.lock_file(state_id))
    return locks


def blocked_because(home: Home, state_id: str) -> str:
    """Return which path prevents that a job is locked or owned, and what to do; empty if none does."""
    for path in (home.lock_file(state_id), home.owner_file(state_id)):
        if why := blocking_file(path):
            return f"{path} is in the way: {why}"
    return ""


@dataclass(frozen=True, slots=True)
class RequestFile:
    """A request to the owner of a job, as an empty file that a monitor on any host sees."""

    path: Path

    def create(self) -> None:
        """Make the request."""
        touch_private(self.path)

    def is_pending(self) -> bool:
        """Whether the request was made; a foreign file or folder in its place is none."""
        return os.path.lexists(self.path) and not blocking_file(self.path)

    def clear(self) -> None:
        """Remove the request, if there is one."""
        _remove(self.path)
