"""Appends events to the log of a group, once each, also if the process is killed in between."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.groups.poll import to_append
from jobmon_core.system.files import failure_reason, open_private

if TYPE_CHECKING:
    from jobmon_core.domain.groups.model import GroupLog


def append_pending(log: GroupLog) -> int:
    """Append the pending text of a log, which was saved before; return the size of the file afterwards.

    Raises:
        StorageFailed: the file cannot be written, e.g. because the disk is full.
    """
    path = Path(log.path)
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_APPEND)
        with open(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(descriptor).st_size
            start = log.size if log.size <= size else 0  # else the user has emptied or replaced it
            written = os.pread(descriptor, size - start, start)
            rest = to_append(log.pending, written)
            while rest:
                rest = rest[file.write(rest) or 0 :]
            os.fsync(descriptor)
            return os.fstat(descriptor).st_size
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {failure_reason(path, error)}") from error
