"""Find the core dump of a program that crashed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import own_files
from jobmon_core.domain.artifacts.model import ListedFile
from jobmon_core.domain.humanize import size
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.slurm.states import Outcome, effective_signal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis

_CORE_PATTERN = "/proc/sys/kernel/core_pattern"
_DUMPING = (3, 4, 5, 6, 7, 8, 11, 24, 25, 31)  # signals whose default action is a core dump: signal(7)
_MAX_ENTRIES = 10_000  # of a folder
# the beginning of an ELF file, and its type at byte 16: ET_CORE, of either byte order
_ELF, _TYPE_AT, _CORE_TYPES = b"\x7fELF", 16, (b"\x04\x00", b"\x00\x04")


def with_core_dump(
    diagnosis: Diagnosis, job: WatchedJob, task: Task, core_pattern: str | None = None
) -> Diagnosis:
    """Return the diagnosis of a task that a signal ended, with where its core dump is; never raises.

    ``core_pattern``: where the kernel puts one, see core(5); None: as on this host, which may differ.
    """
    end = task.end
    if end is None or end.outcome is not Outcome.FAILURE:
        return diagnosis
    if effective_signal(end.exit_code, end.signal) not in _DUMPING:
        return diagnosis
    pattern = _core_pattern() if core_pattern is None else core_pattern
    found = newest_core_dump(_folders(job.workdir, pattern), own_files(job, task, Origin.FOUND))
    if found:
        # another job of the user may have crashed there meanwhile
        where = f"A core dump was written while it ran, {found.name} ({size(found.size_bytes)}): "
        advice = f"{where}`gdb -batch -ex bt PROGRAM {found.name}` shows where it crashed."
    elif pattern.startswith("|") and "systemd-coredump" in pattern:
        advice = f"Its core dump may be on {end.nodes or task.nodes or 'its node'}: `coredumpctl list`."
    else:
        return diagnosis
    return replace(diagnosis, advice=f"{diagnosis.advice} {advice}".strip())


def _folders(workdir: str, pattern: str) -> tuple[str, ...]:
    folder = pattern.rpartition("/")[0] if pattern.startswith("/") else ""
    return tuple(dict.fromkeys(each for each in (workdir, folder) if each and "%" not in each))


def _core_pattern() -> str:
    try:
        with open(_CORE_PATTERN, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def newest_core_dump(folders: tuple[str, ...], own: OwnFiles) -> ListedFile | None:
    """Return the newest of a run's core dumps in the folders, by its path."""
    found = [each for folder in folders for each in _core_dumps(folder, own)]
    return max(found, key=lambda each: each.modified_s, default=None)


def _core_dumps(folder: str, own: OwnFiles) -> Iterator[ListedFile]:
    with suppress(OSError), os.scandir(folder) as entries:  # a folder that is gone has no core dump
        for entry in islice(entries, _MAX_ENTRIES):
            if "core" not in entry.name:
                continue
            with suppress(OSError):  # it was removed meanwhile, or is not readable
                status = entry.stat(follow_symlinks=False)
                is_own = stat.S_ISREG(status.st_mode) and own.include(status.st_mtime, status.st_uid)
                if is_own and _is_core_dump(entry.path):
                    yield ListedFile(entry.path, status.st_size, status.st_mtime)


def _is_core_dump(path: str) -> bool:
    with open(path, "rb") as file:
        head = file.read(_TYPE_AT + 2)
    return head.startswith(_ELF) and head[_TYPE_AT:] in _CORE_TYPES
