"""Checkpoints: the files of which each consists, and the verdict on it.

Times are Unix seconds, sizes bytes; None means "not known". Paths are relative to the searched folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobmon_core.domain.artifacts.model import FileCheck, ListedFile, name_of


class Candidate(NamedTuple):
    """A folder or file that a framework saves as one checkpoint, before its content was read."""

    path: str
    framework: str  # e.g. ``lightning``, as `recognize` names it
    files: tuple[ListedFile, ...]
    is_folder: bool
    step: int | None = None
    is_temporary: bool = False

    @property
    def parent(self) -> str:
        """The folder that contains it; empty for the one that was searched."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def size_bytes(self) -> int:
        """The size of all its files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def saved_s(self) -> float:
        """When its last file was modified."""
        return max((file.modified_s for file in self.files), default=0.0)

    @property
    def owner(self) -> int | None:
        """The uid of the owner of that file."""
        if self.files:
            return max(self.files, key=lambda file: file.modified_s).owner
        return None

    def names(self) -> set[str]:
        """Return the paths of its files, relative to it."""
        return {
            file.name[len(self.path) + 1 :] if self.is_folder else name_of(file.name) for file in self.files
        }

    def sizes(self) -> dict[str, int]:
        """Return the sizes of its files, by their paths without its own at the start."""
        return {file.name[len(self.path) :]: file.size_bytes for file in self.files}


class Evidence(NamedTuple):
    """What was read for the judgement, by path."""

    texts: Mapping[str, str]  # of small files
    checks: Mapping[str, FileCheck]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint and whether a training run can resume from it."""

    path: str
    framework: str
    step: int | None = None
    is_complete: bool | None = None  # None: nothing shows it
    why: str = ""
    size_bytes: int = 0
    saved_s: float = 0.0
    resume: str = ""
    files: tuple[str, ...] = ()  # the paths of its files; none if it is a folder of its own


@dataclass(frozen=True, slots=True)
class FoundCheckpoints:
    """The checkpoints below a folder, the newest first; of a run, only those that it saved."""

    folder: str  # empty if it is not known where a run saves them
    checkpoints: tuple[Checkpoint, ...] = ()
    interval_s: float | None = None  # the median time between two that are complete, or may be
    is_partial: bool = False
    problem: str = ""  # e.g. "no such folder yet"
    machine: str = ""  # the folder is on this machine; empty: on this one, or one that shares it
    others: int = 0  # checkpoints in the folder that the run is not known to have saved, if it has none

    @property
    def place(self) -> str:
        """The folder with its machine, if that is another one."""
        if self.machine:
            return f"{self.machine}:{self.folder}"
        return self.folder

    @property
    def newest_complete(self) -> Checkpoint | None:
        """The newest complete checkpoint; if none is certainly complete, the newest that may be."""
        known = (each for each in self.checkpoints if each.is_complete)
        possible = (each for each in self.checkpoints if each.is_complete is None)
        return next(known, next(possible, None))

    @property
    def newer(self) -> tuple[Checkpoint, ...]:
        """Those newer than `newest_complete`; all without one."""
        complete = self.newest_complete
        if complete:
            return self.checkpoints[: self.checkpoints.index(complete)]
        return self.checkpoints

    @property
    def next_s(self) -> float | None:
        """When the next one is expected."""
        complete = self.newest_complete
        if complete and self.interval_s:
            return complete.saved_s + self.interval_s
        return None

    def is_overdue(self, at_s: float) -> bool:
        """Whether, at ``at_s``, over two usual intervals have passed since the newest complete one."""
        complete = self.newest_complete
        return complete is not None and bool(
            self.interval_s and at_s - complete.saved_s > 2 * self.interval_s
        )
