"""The slots for the monitors of one user on one host: as many lock files as monitors may run.

A monitor holds the lock of its slot until it ends; the kernel releases the lock of a killed one. The content
of the file names the monitor.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from jobmon_core.store.json_file import encoded, read_record
from jobmon_core.store.owner import Health, Owner
from jobmon_core.system.files import private_folder
from jobmon_core.system.lock import acquire

if TYPE_CHECKING:
    from pathlib import Path

_RECORD_BYTES = 512  # constant and written at once, so that readers never see a mixture of two records


@dataclass(frozen=True, slots=True)
class SlotHolder:
    """A monitor that holds a slot."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"env_fingerprint": "surroundings"}

    owner: Owner
    jobs: int  # number of watched jobs
    env_fingerprint: str  # the monitor may adopt only jobs submitted in the same environment


def acquire_slot(folder: Path, max_monitors: int) -> int | None:
    """Take the first free slot of this host; return its descriptor, None if all ``max_monitors`` are taken.

    The slot is held until all copies of the descriptor are closed; it survives an exec and a fork.
    """
    for number in range(max_monitors):
        path = private_folder(folder) / f"{_host()}-{number}.slot"
        descriptor = acquire(path)
        if descriptor is None:
            continue
        if _living_holder(path) is None:
            return descriptor
        os.close(descriptor)  # on a file system without locks only the content counts
    return None


def slot_holders(folder: Path) -> list[SlotHolder]:
    """Return the living monitors of this host that hold a slot, the one with the fewest jobs first."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - plain names
    except FileNotFoundError:  # no monitor ever took a slot
        return []
    holders = (_living_holder(folder / name) for name in names if name.startswith(_host()))
    return sorted((holder for holder in holders if holder), key=lambda holder: holder.jobs)


def _host() -> str:
    return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def write_slot_holder(descriptor: int, holder: SlotHolder) -> None:
    """Write the holder into a slot; a monitor whose record cannot be written is offered no jobs."""
    with suppress(OSError):
        os.pwrite(descriptor, encoded(holder).ljust(_RECORD_BYTES), 0)


def _living_holder(path: Path) -> SlotHolder | None:
    record = read_record(path, SlotHolder, _RECORD_BYTES)
    return record[0] if record and record[0].owner.health() is Health.ALIVE else None
