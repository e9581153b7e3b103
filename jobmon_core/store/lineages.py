"""The lineages: one JSON file each, and beside it a private one with what is needed to submit once more."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.job_settings import RunOptions  # noqa: TC001 - see RecordedSubmission
from jobmon_core.domain.job.restart.model import Lineage
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import private_folder, remove_file
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jobmon_core.domain.job.tracking.model import WatchedJob

_MAX_BYTES = 16 * 2**20
_PRIVATE = ".private"


@dataclass(frozen=True, slots=True)
class RecordedSubmission:
    """The submission of the first attempt. It holds secrets: nothing but a submission may read it."""

    arguments: tuple[str, ...] = ()  # of sbatch, or the command
    folder: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    script: str | None = None  # its text, undecodable bytes as surrogates; None: the file as it is
    script_name: str = ""
    script_path: str = ""  # the file that the script came from, if ``arguments`` name a copy of it
    sentinel: bool = False
    umask: int | None = None  # the job inherits both from sbatch; None: as they are then
    limits: dict[str, int] = field(default_factory=dict)  # soft resource limits by name, e.g. RLIMIT_CORE
    run: RunOptions | None = None  # of a command


@dataclass(frozen=True, slots=True)
class LineageStore:
    """The lineages in one folder, see `Home.lineages`.

    Its methods raise StorageFailed if a file cannot be read, and then stays as it is, or cannot be written.
    """

    folder: Path

    def ids(self) -> list[str]:
        """Return the ids of all lineages, sorted; empty if the folder cannot be read."""
        return sorted(path.stem for path in self.folder.glob("*.json") if not path.stem.endswith(_PRIVATE))

    def load(self, lineage_id: str) -> Lineage:
        """Return a lineage; one without an id if there is none."""
        return self._file(lineage_id).read_to_change()

    def of_job(self, job: WatchedJob) -> Lineage | None:
        """Return the lineage of which a job is an attempt; None if it is part of none."""
        lineage = self.load(lineage_id_of(job))
        return lineage if lineage.id else None

    def successor_of(self, job: WatchedJob) -> str:
        """Return the state id of the newest attempt of a job's lineage; empty if that is the job itself.

        Load the job before: its monitor records a new attempt first, and then that none is due any more.
        """
        lineage = self.of_job(job) if job.is_over else None
        newest = lineage.newest if lineage else None
        return newest.state_id if newest and newest.state_id != job.id else ""

    def readable(self) -> list[Lineage]:
        """Return all lineages that can be read: one that cannot must not stop the others."""
        found = []
        for lineage_id in self.ids():
            with suppress(StorageFailed):
                found.append(self.load(lineage_id))
        return found

    def update(self, lineage_id: str, change: Callable[[Lineage], Lineage]) -> Lineage:
        """Change a lineage under its lock, durably; return it."""
        with self.locked(lineage_id):
            return self.replace(lineage_id, change)

    @contextmanager
    def locked(self, lineage_id: str) -> Iterator[None]:
        """Wait for the lock of a lineage, and hold it for the ``with`` block."""
        private_folder(self.folder)
        with lock(self._file(lineage_id).lock_path):
            yield

    def replace(self, lineage_id: str, change: Callable[[Lineage], Lineage]) -> Lineage:
        """As `update`, for a caller that holds the lock."""
        file = self._file(lineage_id)
        before = file.read_to_change()
        after = change(before)
        if after != before:
            file.write(after)
        return after

    def begin(self, lineage: Lineage, submission: RecordedSubmission | None) -> None:
        """Record a new lineage, and what is needed to submit once more, if it may."""
        with self.locked(lineage.id):
            if submission:
                self.submission(lineage.id).write(submission)
            self.replace(lineage.id, lambda _new: lineage)

    def submission(self, lineage_id: str) -> JsonFile[RecordedSubmission]:
        """Return the private file of a lineage."""
        return JsonFile(self.folder / f"{lineage_id}{_PRIVATE}.json", RecordedSubmission, _MAX_BYTES)

    def remove_submission(self, lineage_id: str) -> None:
        """Remove the private file of a lineage that has ended."""
        remove_file(self.submission(lineage_id).path)

    def remove(self, lineage_id: str) -> None:
        """Remove a lineage that has ended, with its private file."""
        file = self._file(lineage_id)
        for path in (self.submission(lineage_id).path, file.path, file.lock_path):
            remove_file(path)

    def _file(self, lineage_id: str) -> JsonFile[Lineage]:
        return JsonFile(self.folder / f"{lineage_id}.json", Lineage, _MAX_BYTES)


def lineage_id_of(job: WatchedJob) -> str:
    """Return the id of the lineage of which a job is an attempt, if there is such a lineage.

    One that `jobmon restart` makes for a job without a lineage has the state id of that job as its id.
    """
    return job.attempt.lineage if job.attempt else job.id
