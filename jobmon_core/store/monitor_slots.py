"""Places for the monitors of one user on one host: as many lock files as there may be monitors.

A monitor holds the lock of its place for life, and the kernel frees it however the monitor ends: what is
counted is always true, even while many submissions count at once. The file says who holds the place.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jobmon_core.store.json_file import encoded, read_record
from jobmon_core.store.owner import Liveness, Owner
from jobmon_core.system.files import private_folder
from jobmon_core.system.lock import acquire

if TYPE_CHECKING:
    from pathlib import Path

_RECORD_BYTES = 512  # always as many, written at once: no reader meets the end of a longer one


@dataclass(frozen=True, slots=True)
class SlotHolder:
    """A monitor that holds a place."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"env_fingerprint": "surroundings"}

    owner: Owner
    jobs: int  # how many it follows
    env_fingerprint: str  # a monitor may take up the jobs of the same surroundings only

    @property
    def is_alive(self) -> bool:
        """Whether it runs, on this host."""
        return self.owner.liveness(0.0, 0.0) is Liveness.ALIVE


@dataclass(frozen=True, slots=True)
class MonitorSlots:
    """The places on this host; a folder that several hosts share holds those of each."""

    folder: Path

    def acquire(self, at_most: int) -> int | None:
        """Take the first of ``at_most`` places that is free; return its descriptor, None where none is.

        The place is kept as long as a process has the descriptor open; an exec keeps it.

        Raises:
            StorageFailed: the file system refused it.
        """
        folder = private_folder(self.folder)
        for number in range(at_most):
            path = folder / f"{self._host}-{number}.slot"
            descriptor = acquire(path)
            if descriptor is None:
                continue
            holder = _read(path)
            if holder is None or not holder.is_alive:
                return descriptor
            os.close(descriptor)  # a file system without locks: what stands in the file has to do
        return None

    def holders(self) -> list[SlotHolder]:
        """Return who holds the places and lives, the one with the fewest jobs first."""
        names = (name for name in os.listdir(self.folder) if name.startswith(self._host))  # noqa: PTH208 - plain names
        found = (_read(self.folder / name) for name in names)
        return sorted(
            (holder for holder in found if holder and holder.is_alive), key=lambda holder: holder.jobs
        )

    @property
    def _host(self) -> str:
        return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def write_slot_holder(descriptor: int, holder: SlotHolder) -> None:
    """Write into a place who holds it; where the disk refuses, its holder is merely offered nothing."""
    record = encoded(holder).ljust(_RECORD_BYTES)
    with suppress(OSError):
        os.pwrite(descriptor, record, 0)


def _read(path: Path) -> SlotHolder | None:
    record = read_record(path, SlotHolder, _RECORD_BYTES)
    return record[0] if record else None  # the slot is free, or its record is just being written
