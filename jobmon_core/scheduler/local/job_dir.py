"""The folder of one local job, and how a new one gets its number.

STATE/7/  spec.json slurm_script owner.json task.json (or task-INDEX.json ...) rest.json ended shepherd.log
STATE/8   a link to 7: the own number of one of its tasks
"""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.scheduler.local.machine import Owner
from jobmon_core.scheduler.local.records import JobSpec, TaskRecord, from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700


@dataclass(frozen=True, slots=True)
class JobDir:
    """Everything that is known of one job. Reading raises StateUnreadable where a file is damaged."""

    path: Path

    @property
    def id(self) -> int:
        """The job's number."""
        return int(self.path.name)

    @property
    def script(self) -> Path:
        """The batch script, as it was submitted."""
        return self.path / "slurm_script"

    @property
    def log(self) -> Path:
        """Where the shepherd's own troubles are written."""
        return self.path / "shepherd.log"

    @property
    def _ended(self) -> Path:
        return self.path / "ended"

    def create(self, spec: JobSpec, script: bytes) -> None:
        """Write down what the job is to do; its script is executable."""
        _write(self.script, script, _PRIVATE_FOLDER)
        _write(self.log, b"", _PRIVATE)
        _write(self.path / "spec.json", to_text(spec).encode(), _PRIVATE)

    def spec(self) -> JobSpec | None:
        """Return what the job is to do; None where its submission never came that far."""
        text = _read(self.path / "spec.json")
        return None if text is None else from_text(JobSpec, text, f"{self.path}/spec.json")

    def write_owner(self, owner: Owner) -> None:
        """Name the shepherd."""
        _write(self.path / "owner.json", to_text(owner).encode(), _PRIVATE)

    def owner(self) -> Owner | None:
        """Return the shepherd; None where it was never started."""
        text = _read(self.path / "owner.json")
        return None if text is None else from_text(Owner, text, f"{self.path}/owner.json")

    def write_task(self, record: TaskRecord) -> None:
        """Write down what is known of one task, or of all that wait."""
        suffix = "" if record.index is None else f"-{record.index}"
        name = "rest" if record.waiting else f"task{suffix}"
        _write(self.path / f"{name}.json", to_text(record).encode(), _PRIVATE)

    def tasks(self) -> list[TaskRecord]:
        """Return the tasks that were started, by index."""
        texts = ((path, _read(path)) for path in self.path.glob("task*.json"))
        records = [from_text(TaskRecord, text, str(path)) for path, text in texts if text is not None]
        return sorted(records, key=lambda record: record.index or 0)

    def rest(self) -> TaskRecord | None:
        """Return what became of the tasks that were never started, once that is sure."""
        text = _read(self.path / "rest.json")
        return None if text is None else from_text(TaskRecord, text, f"{self.path}/rest.json")

    def mark_ended(self) -> None:
        """Note that nothing more will be written."""
        _write(self._ended, b"", _PRIVATE)

    def ended_s(self) -> float | None:
        """Return when the last word was written (Unix seconds), None while there is more to come."""
        try:
            return self._ended.stat().st_mtime
        except FileNotFoundError:
            return None

    def remove(self) -> None:
        """Leave nothing of the job behind: it was never started."""
        shutil.rmtree(self.path, ignore_errors=True)


def indices(spec: JobSpec) -> list[int | None]:
    """Return the tasks of a job in their order; one without index for a job that is no array."""
    return list(IndexSet.parse(spec.array)) if spec.array else [None]


def new_folder(root: Path) -> JobDir:
    """Take the next number: whoever makes the folder has it, however many try at once."""
    number = _highest(root) + 1
    while True:
        path = root / str(number)
        try:
            path.mkdir(_PRIVATE_FOLDER)
        except FileExistsError:
            number += 1
            continue
        path.chmod(_PRIVATE_FOLDER)  # whatever the user's umask is
        return JobDir(path)


def new_own_id(folder: JobDir) -> int:
    """Take the next number for a task of an array, as each has one in Slurm."""
    root = folder.path.parent
    number = _highest(root) + 1
    while True:
        try:
            (root / str(number)).symlink_to(folder.path.name)
        except FileExistsError:
            number += 1
            continue
        return number


def find(root: Path, job_id: int) -> JobDir | None:
    """Return the folder of a job, None where there is no such job."""
    path = root / str(job_id)
    return JobDir(path) if path.is_dir() and not path.is_symlink() else None


def all_folders(root: Path) -> Iterator[JobDir]:
    """Yield every job there ever was, oldest first."""
    with os.scandir(root) as entries:
        names = [
            entry.name for entry in entries if entry.name.isdecimal() and entry.is_dir(follow_symlinks=False)
        ]
    yield from (JobDir(root / name) for name in sorted(names, key=int))


def _highest(root: Path) -> int:
    return max((int(entry.name) for entry in root.iterdir() if entry.name.isdecimal()), default=0)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file in one step that also survives a power cut; a disk that refuses leaves the old one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)  # whatever the user's umask is
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
        _sync(path.parent)
    except OSError:
        with contextlib.suppress(OSError):  # the first fault is the one to tell
            temporary.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
