"""The state files: one JSON file per submission, always replaced as a whole, so that none is half-written."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.domain.slurm.job_ids import JobRef

SCHEMA = 1
_FILE_NAME = re.compile(r"[^-]+-([^-]+)-.*\.json", re.DOTALL)  # the job id is its second part
_MAX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A state file, or the file of a message, that cannot be read; it stays unchanged and is reported."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class JobStore:
    """The state files in one folder."""

    folder: Path

    def path(self, state_id: str) -> Path:
        """Return the state file of a submission."""
        return self.folder / f"{state_id}.json"

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        """Write a job durably; without news, the old state may come back after a power cut.

        ``check_owner`` is called right before the state is replaced, and prevents that by an exception. After
        StorageFailed, the old state is still there, or the new one is, but may not survive a power cut.
        """
        # ASCII, with escapes for what UTF-8 cannot encode, e.g. an undecodable byte of a file name
        content = json.dumps({"schema": SCHEMA, **to_json(job)})
        write_atomically(
            self.path(job.id), content.encode("ascii"), old_will_do=not is_news, check=check_owner
        )

    def load(self, state_id: str) -> WatchedJob:
        """Read a job; StateUnreadable if its file is missing, damaged, or from a newer jobmon."""
        return _load(self.path(state_id))

    def is_missing(self, state_id: str) -> bool:
        """Whether there is no such state file; False if that cannot be told now."""
        try:
            self.path(state_id).lstat()
        except OSError as error:
            return isinstance(error, FileNotFoundError)
        return False

    def paths(self) -> list[Path]:
        """Return all state files, sorted by name."""
        return sorted(self.folder.glob("*.json"))

    def all(self) -> Iterator[WatchedJob | Unreadable]:
        """Yield the files that cannot be read, then all jobs, oldest first."""
        entries = [self.read(path) for path in self.paths()]
        yield from (entry for entry in entries if isinstance(entry, Unreadable))
        yield from _oldest_first(entry for entry in entries if not isinstance(entry, Unreadable))

    def read(self, path: Path) -> WatchedJob | Unreadable:
        """Return the job of a state file, or why there is none."""
        try:
            return _load(path)
        except StateUnreadable as error:
            return Unreadable(path, str(error))

    def job_ids(self) -> set[int]:
        """Return the job ids of all state files, by the files' names."""
        texts = (_job_id(path.name) for path in self.folder.glob("*-*-*.json"))
        return {int(text) for text in texts if text.isdecimal()}

    def find(self, ref: JobRef) -> list[WatchedJob]:
        """Return the jobs with `is_named_by(ref)`, newest last; skip unreadable files."""
        # file names do not contain the raw job ids of array tasks: read all files only if no name matches
        for pattern in (f"*-{ref.job_id}-*.json", "*.json"):
            entries = map(self.read, self.folder.glob(pattern))  # all() reports those that cannot be read
            if jobs := [job for job in entries if not isinstance(job, Unreadable) and job.is_named_by(ref)]:
                return _oldest_first(jobs)
        return []

    def is_registered(self, ref: JobRef, since_s: float) -> bool:
        """Whether a job is watched, or was registered after ``since_s`` (Unix seconds).

        A file that cannot be read now counts as watched: it may be readable again.
        """
        try:
            paths = list(self.folder.iterdir())  # unlike glob, it says when the folder cannot be read
        except FileNotFoundError:
            return False
        except OSError:
            return True
        own = [self.read(path) for path in paths if _job_id(path.name) == str(ref.job_id)]
        if any(isinstance(job, Unreadable) for job in own):
            return True
        return any(not job.closed or job.registered_s > since_s for job in self.find(ref))


def state_id(prefix: str, ref: JobRef) -> str:
    """Return a name for a state file that no other submission has, although job ids are reused."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    # "-" separates the parts: `JobStore` reads the job id from the name
    safe = "".join(letter if letter.isalnum() else "." for letter in prefix)
    return f"{safe}-{ref.job_id}-{stamp}{ref.key and '-' + ref.key.strip('+')}"


def _job_id(file_name: str) -> str:
    match = _FILE_NAME.fullmatch(file_name)
    return match[1] if match else ""


def _oldest_first(jobs: Iterable[WatchedJob]) -> list[WatchedJob]:
    return sorted(jobs, key=lambda job: job.registered_s)


def _load(path: Path) -> WatchedJob:
    try:
        data = json.loads(read_own(path, _MAX_BYTES))
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, f"is damaged: {error}") from error
    return _job(path, data)


def _job(path: Path, data: object) -> WatchedJob:
    if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
        raise _unreadable(path, "is damaged: not a state file")
    if data["schema"] > SCHEMA:
        raise StateUnreadable(
            f"{path} was written by a newer jobmon (schema {data['schema']}, this one supports {SCHEMA}); "
            "use that jobmon, or update this one"
        )
    from jobmon_core.domain.job.tracking import model as domain  # only for reading: submitting stays fast

    try:
        job = from_json(domain.WatchedJob, data)
    except DecodeError as error:
        raise _unreadable(path, f"is damaged: {error}") from error
    if job.id != path.stem:
        raise _unreadable(path, f"contains the state of {job.id}: the file was renamed or copied")
    if any(key != task.key for key, task in job.tasks.items()):
        raise _unreadable(path, "is damaged: a task has the key of another one")
    return job


def _unreadable(path: Path, problem: str) -> StateUnreadable:
    """Return the error for a file, with what to do about it; the file's name contains the job id."""
    job_id = path.stem.partition("-")[2].partition("-")[0]
    watch = f", then `jobmon watch {job_id}` watches the job again" if job_id.isdecimal() else ""
    advice = f"; move it away{watch}" if os.path.lexists(path) else ""
    return StateUnreadable(f"{path} {problem}{advice}")
