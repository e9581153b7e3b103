"""The state files: one JSON per submission, replaced atomically, never by an empty one."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.new_job import NewJob

SCHEMA = 1
_AT_MOST = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A state file that can't be read; it stays where it is, and is reported."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class JobStore:
    """The state files in one folder."""

    folder: Path

    def path(self, job_id: str) -> Path:
        """Return the file of the submission with this state id."""
        return self.folder / f"{job_id}.json"

    def save(self, job: WatchedJob | NewJob) -> None:
        """Write a job durably.

        Raises:
            StorageFailed: the disk refused; the former state is still there.
        """
        # in ASCII: what has no UTF-8, such as half a character of a file name, is kept as an escape
        content = json.dumps({"schema": SCHEMA, **to_json(job)}, indent=1)
        write_atomically(self.path(job.id), content.encode("ascii"))

    def load(self, job_id: str) -> WatchedJob:
        """Read one job.

        Raises:
            StateUnreadable: it is missing, damaged, or from a newer jobmon.
        """
        path = self.path(job_id)
        try:
            data = json.loads(read_own(path, _AT_MOST))
        except OSError as error:
            raise StateUnreadable(f"{path} can't be read: {error.strerror}{_way_out(path)}") from error
        except (ValueError, RecursionError) as error:
            raise StateUnreadable(f"{path} is damaged: {error}{_way_out(path)}") from error
        return _job(path, data)

    def all(self) -> Iterator[WatchedJob | Unreadable]:
        """Yield every file that can't be read, then every job, oldest first."""
        found = [self._found(path) for path in sorted(self.folder.glob("*.json"))]
        yield from (file for file in found if isinstance(file, Unreadable))
        yield from sorted((job for job in found if not isinstance(job, Unreadable)), key=_age)

    def _found(self, path: Path) -> WatchedJob | Unreadable:
        try:
            return self.load(path.stem)
        except StateUnreadable as error:
            return Unreadable(path, str(error))

    def job_ids(self) -> set[int]:
        """Return the ids of all jobs that have a file, as its name tells them; none is read."""
        names = (path.name.split("-") for path in self.folder.glob("*-*-*.json"))
        return {int(words[1]) for words in names if words[1].isdecimal()}

    def find(self, ref: JobRef) -> list[WatchedJob]:
        """Return the watched jobs that ``ref`` belongs to, newest last."""
        # an array task's own id stands in no name: every file is read only where no name fits
        return self._covering(ref, f"*-{ref.job_id}-*.json") or self._covering(ref, "*.json")

    def is_registered(self, ref: JobRef, since_s: float) -> bool:
        """Whether a job is watched, or was registered after ``since_s`` (Unix seconds)."""
        return any(not job.closed or job.registered_s > since_s for job in self.find(ref))

    def _covering(self, ref: JobRef, pattern: str) -> list[WatchedJob]:
        found = (self._found(path) for path in self.folder.glob(pattern))
        # what can't be read is reported by all(), which every listing goes through
        return sorted(
            (job for job in found if not isinstance(job, Unreadable) and covers(job, ref)), key=_age
        )


def covers(job: WatchedJob, ref: JobRef) -> bool:
    """Whether ``ref`` names this job, or a part of it."""
    if job.job_id == ref.job_id:
        return not job.watched_part or not ref.key or job.watched_part == ref.key
    return not ref.key and any(task.raw_job_id == ref.job_id for task in job.tasks.values())


def _age(job: WatchedJob) -> float:
    return job.registered_s


def _job(path: Path, data: object) -> WatchedJob:
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise StateUnreadable(f"{path} is damaged: it is no state file{_way_out(path)}")
    if data["schema"] > SCHEMA:
        raise StateUnreadable(
            f"{path} was written by a newer jobmon (schema {data['schema']}, this one knows {SCHEMA}); "
            "use that jobmon, or update this one"
        )
    from jobmon_core.domain.tracking import model as domain  # only reading needs it: submitting stays quick

    try:
        job = from_json(domain.WatchedJob, data)
    except DecodeError as error:
        raise StateUnreadable(f"{path} is damaged: {error}{_way_out(path)}") from error
    if job.id != path.stem:
        raise StateUnreadable(f"{path} holds the state of {job.id}: it was renamed or copied{_way_out(path)}")
    if any(key != task.key for key, task in job.tasks.items()):
        raise StateUnreadable(f"{path} is damaged: a task stands under another's key{_way_out(path)}")
    return job


def _way_out(path: Path) -> str:
    """Say what to do about a file that can't be read; its name tells the job."""
    job_id = path.stem.partition("-")[2].partition("-")[0]
    anew = f", and `jobmon watch {job_id}` watches the job anew" if job_id.isdecimal() else ""
    return f"; move it away{anew}" if os.path.lexists(path) else ""
