"""Watch output files and checkpoints: whether they exist, grow, are whole, and have room to grow."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon.api.records import file_names
from jobmon_core.app.jobs.artifacts import checked, disks_of, files_of
from jobmon_core.domain.artifacts.look import checkpoints_after
from jobmon_core.domain.artifacts.model import Listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.api.records import FileName
    from jobmon_core.domain.artifacts.model import FileCheck, ListedFile

_LOW_BYTES = 10 * 2**30
_LOW_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStatus:
    """An output file at one moment."""

    exists: bool
    size_bytes: int = 0
    modified_s: float | None = None  # Unix seconds
    growth_bytes_per_s: float | None = None  # since the previous call; None if it is new
    is_stalled: bool = False  # it grew by less than ``min_growth_rate`` bytes since the previous call
    check: FileCheck | None = None  # whether it is whole, and its records; None unless asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStatus:
    """The checkpoints at one moment. Seconds are None if they are not known."""

    last_checkpoint: str = ""  # its path; empty if there is none
    count: int = 0
    interval_s: float | None = None  # the usual time between two, known after three
    age_s: float | None = None  # since the last one was written
    next_in_s: float | None = None  # until the next one is expected; negative: it is overdue


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """The room on a file system."""

    free_bytes: int  # for this user
    total_bytes: int
    is_low: bool  # less than 10 GiB or 10 % is free


class FileMonitor:
    """Watches the outputs and checkpoints of a program, from within the calling process."""

    def __init__(
        self,
        output_patterns: FileName | Sequence[FileName],
        checkpoint_patterns: FileName | Sequence[FileName] = (),
        min_growth_rate: float = 1024,
    ) -> None:
        """Begin without data.

        Args:
            output_patterns: globs of the outputs, e.g. ``out/worker_*.json``. A name without wildcards is
                reported even while there is no such file.
            checkpoint_patterns: globs of the checkpoints, which may be files or folders.
            min_growth_rate: bytes; an output that grows by less from one call to the next has stalled.
        """
        self._outputs = file_names(output_patterns)
        self._checkpoints = file_names(checkpoint_patterns)
        self._min_growth_bytes = min_growth_rate
        self._seen: dict[str, tuple[float, int]] = {}  # when each file was looked at, and its size

    def check_outputs(self, *, validate: bool = False, now_s: float | None = None) -> dict[str, OutputStatus]:
        """Return how each output is, by its path; with ``validate``, also whether it is whole.

        A cut-off end is no damage in a file whose size has changed since the previous call.
        """
        now_s = time.time() if now_s is None else now_s
        files = files_of(self._outputs)
        self._seen = {path: seen for path, seen in self._seen.items() if files.get(path)}
        return {
            path: self._status(path, file, now_s, validate=validate) if file else OutputStatus(exists=False)
            for path, file in files.items()
        }

    def _status(self, path: str, file: ListedFile, now_s: float, *, validate: bool) -> OutputStatus:
        before_s, before_bytes = self._seen.get(path, (now_s, 0))
        is_known = path in self._seen
        grown_bytes = file.size_bytes - before_bytes
        self._seen[path] = (now_s, file.size_bytes)
        return OutputStatus(
            exists=True,
            size_bytes=file.size_bytes,
            modified_s=file.modified_s,
            growth_bytes_per_s=max(0, grown_bytes) / (now_s - before_s) if now_s > before_s else None,
            is_stalled=is_known and 0 <= grown_bytes < self._min_growth_bytes,
            check=checked(path, still_written=is_known and grown_bytes != 0) if validate else None,
        )

    def check_checkpoints(self, now_s: float | None = None) -> CheckpointStatus:
        """Return the latest checkpoint, how often one is saved, and when the next one is due."""
        now_s = time.time() if now_s is None else now_s
        files = files_of(self._checkpoints, folders=True).values()
        saved, _ = checkpoints_after(None, Listing("", tuple(file for file in files if file)), 0.0, now_s)
        newest, next_s = saved.newest, saved.next_s
        return CheckpointStatus(
            last_checkpoint=newest.name if newest else "",
            count=saved.count,
            interval_s=saved.interval_s,
            age_s=now_s - newest.modified_s if newest else None,
            next_in_s=None if next_s is None else next_s - now_s,
        )

    def verify_disk_space(self) -> dict[str, DiskSpace]:
        """Return the room on the file systems of the outputs and checkpoints, by their folders."""
        return {
            folder: DiskSpace(
                free_bytes=disk.free_bytes,
                total_bytes=disk.total_bytes,
                is_low=disk.free_bytes < max(_LOW_BYTES, _LOW_SHARE * disk.total_bytes),
            )
            for folder, disk in disks_of((*self._outputs, *self._checkpoints)).items()
        }

    def validate_file_integrity(self, filepath: FileName) -> FileCheck:
        """Return whether a file is whole, by its beginning and end; nothing is unpickled or executed."""
        return checked(os.fspath(filepath))
