"""Who watches a job: told apart by host, boot and process start, never by a pid alone."""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.system.file_checks import because
from jobmon_core.system.files import create_exclusive, read_dated, read_own, time_of_files, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from jobmon_core.system.process import start_ticks

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_MOST = 64 * 1024
# Several heartbeats, and more than two hosts' clocks can differ where they date the files, as on Lustre:
# munge, and with it Slurm, refuses a host that is five minutes off.
STALE_AFTER_S = 900.0


class Liveness(StrEnum):
    """What can be said of an owner from here."""

    ALIVE = "alive"
    DEAD = "dead"
    REMOTE = "elsewhere"  # on another host, and fresh signs of it
    STALE = "stale"  # on another host, and no sign of it for long


@dataclass(frozen=True, slots=True)
class Owner:
    """One process on one host since one boot."""

    host: str
    boot_id: str
    pid: int
    start_ticks: int  # since boot, in clock ticks

    def __str__(self) -> str:
        return f"monitor {self.pid} on {self.host}"

    @classmethod
    def this_process(cls) -> Owner:
        """Return the identity of the calling process; it survives an exec."""
        return _process(os.getpid())

    def liveness(
        self, heartbeat_s: float, stale_after_s: float, now: Callable[[], float] = time.time
    ) -> Liveness:
        """Say whether this owner lives; ``heartbeat_s`` is when it last gave a sign (Unix seconds).

        ``now`` tells the time by the same clock. A sign from far in the future is none: a dead owner
        would seem to live until then.
        """
        if self.host != os.uname().nodename:
            return Liveness.REMOTE if abs(now() - heartbeat_s) < stale_after_s else Liveness.STALE
        if self.boot_id != _boot_id() or start_ticks(self.pid) != self.start_ticks:
            return Liveness.DEAD
        return Liveness.ALIVE


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """The file that names an owner; its modification time is the owner's heartbeat."""

    path: Path

    def write(self, owner: Owner) -> None:
        """Name the owner, whoever was named before.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self.path, _content(owner))

    def claim(self, claimant: Owner) -> None:
        """Name the owner, unless another lives. Of several who try at once, on whatever hosts, one succeeds.

        Locks may not reach from host to host, so this needs none. Who wants to follow an owner makes a file
        whose name tells whom it follows, and only one can; if nobody was named meanwhile, it becomes the
        record. One that was killed in between is followed in the same way.

        Raises:
            AlreadyWatched: another lives, or was quicker.
            StorageFailed: the disk refused.
        """
        before = last = self.read()
        passed: list[Path] = []
        while last is None or last[0] != claimant:
            self._refuse_living(last)
            successor = self._successor_of(last)
            if create_exclusive(successor.path, _content(claimant)):
                self._succeed(successor.path, before)
                break
            passed.append(successor.path)
            last = successor.read()
            if last is None:
                raise self._taken()
        for path in passed:
            _remove(path)

    def _succeed(self, successor: Path, before: tuple[Owner, float] | None) -> None:
        """Turn the file of an heir into the record, if that still names whom it was made to follow."""
        now = self.read()
        if (now and now[0]) != (before and before[0]):
            _remove(successor)
            raise self._taken()
        try:
            successor.replace(self.path)
        except OSError as error:
            _remove(successor)
            raise StorageFailed(f"{self.path} can't be written: {because(self.path, error)}") from error

    def _refuse_living(self, found: tuple[Owner, float] | None) -> None:
        if found and found[0].liveness(found[1], STALE_AFTER_S, self.now) in (
            Liveness.ALIVE,
            Liveness.REMOTE,
        ):
            raise AlreadyWatched(f"{self._job} is watched by {found[0]}")

    def _taken(self) -> AlreadyWatched:
        return AlreadyWatched(f"another monitor takes up {self._job} at this moment")

    def _successor_of(self, found: tuple[Owner, float] | None) -> OwnerRecord:
        named = f"{zlib.crc32(_content(found[0])):08x}" if found else "first"
        return OwnerRecord(self.path.with_name(f"{self._job}.{named}.heir"))

    @property
    def _job(self) -> str:
        return self.path.stem

    def now(self) -> float:
        """Return the time by the clock that dates heartbeats (Unix seconds)."""
        return time_of_files(self.path.parent)

    def read(self) -> tuple[Owner, float] | None:
        """Return the owner and its last heartbeat; None where nobody was named."""
        try:
            content, heartbeat_s = read_dated(self.path, _AT_MOST)
            return from_json(Owner, json.loads(content)), heartbeat_s
        except (OSError, ValueError, RecursionError, DecodeError):
            return None  # nobody, or nobody who can be told: the lock decides who may run

    def heartbeat(self) -> bool:
        """Give a sign of life; return False where nobody is named, so that another may have come and gone.

        Raises:
            AlreadyWatched: another monitor is named: this one was silent for so long that it was taken for
                dead, and must leave the job alone.
        """
        try:
            if read_own(self.path, _AT_MOST) != _content(Owner.this_process()):
                self._refuse_other()
            os.utime(self.path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # a full disk must not end the monitoring
        return True

    def _refuse_other(self) -> None:
        found = self.read()
        if found is None or found[0] == Owner.this_process():
            return
        if found[0].liveness(found[1], STALE_AFTER_S, self.now) is not Liveness.DEAD:
            raise AlreadyWatched(f"{self._job} was taken over by {found[0]}")
        with suppress(StorageFailed):  # one who is gone is in nobody's way
            self.write(Owner.this_process())

    def remove(self) -> None:
        """Leave no owner behind, unless it is another one by now."""
        found = self.read()
        if found is None or found[0] == Owner.this_process():
            _remove(self.path)


def _remove(path: Path) -> None:
    with suppress(OSError):  # what can't be removed is in nobody's way
        path.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _process(pid: int) -> Owner:
    """Return the identity of this process, whose number is ``pid``; a host that is renamed changes none."""
    return Owner(os.uname().nodename, _boot_id(), pid, start_ticks(pid) or 0)


@lru_cache(maxsize=1)
def _content(owner: Owner) -> bytes:
    return json.dumps(to_json(owner)).encode()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
