"""Files that a job writes, as of one look: outputs, checkpoints, room on their disk, whether one is whole.

Times are Unix seconds, sizes are bytes. None means "not known".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from jobmon_core.domain.artifacts.disk import Disk

_IDLE_AFTER_S = 60.0
_OVERDUE_INTERVALS = 2  # after so many times the usual interval, a checkpoint is overdue


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file, or a folder that is one checkpoint."""

    name: str = ""  # within the folder
    size_bytes: int = 0
    modified_s: float = 0.0  # of a folder: when anything in it was last written
    owner: int | None = None  # uid


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder that a pattern matches."""

    folder: str
    files: tuple[ListedFile, ...] = ()
    is_partial: bool = False
    changed_s: float = 0.0  # when a file was last added to the folder, or removed
    problem: str = ""  # e.g. "no such folder yet"
    # if ``files`` are only the latest ones: the number and the size of all
    count: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """A size, and how fast it grew when it last changed."""

    size_bytes: int = 0
    modified_s: float = 0.0
    seen_s: float = 0.0  # when jobmon first saw this size
    bytes_per_s: float | None = None

    def idle_s(self, looked_s: float) -> float:
        """Return for how many seconds it had not grown at ``looked_s``; a mere rewrite is no growth."""
        return max(0.0, looked_s - min(self.modified_s, self.seen_s))

    def rate_per_s(self, looked_s: float) -> float | None:
        """Return the latest growth known at ``looked_s`` in bytes per second; 0.0 after a minute of none."""
        if self.idle_s(looked_s) < _IDLE_AFTER_S:
            return self.bytes_per_s
        return 0.0


@dataclass(frozen=True, slots=True)
class OutputFile:
    """One output of a job."""

    name: str = ""  # within the folder
    growth: Growth = Growth()


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a job."""

    folder: str = ""
    count: int = 0
    total: Growth = Growth()
    files: tuple[OutputFile, ...] = ()  # a bounded number of them, the latest modification first
    is_partial: bool = False
    problem: str = ""  # e.g. "no such folder yet"
    is_found: bool = False  # by the log or the script, not by the user
    # when they last grew as fast as the user demands; None: any change counts
    fast_enough: Growth | None = None

    @property
    def hardly_grow(self) -> bool:
        """Whether they have changed since they last grew as fast as the user demands."""
        return self.fast_enough is not None and self.total.modified_s > self.fast_enough.modified_s


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of a job."""

    folder: str = ""
    count: int = 0
    newest: ListedFile | None = None
    interval_s: float | None = None  # the median time between two of them
    # modification time of the latest one that an event has reported; if none has, the start of the run
    reported_s: float = 0.0
    is_partial: bool = False
    problem: str = ""
    is_found: bool = False  # by the log or the script, not by the user
    step: int | None = None  # of the newest one, if it was looked at
    is_complete: bool | None = None

    @property
    def name(self) -> str:
        """The newest one; empty if there is none."""
        return self.newest.name if self.newest else ""

    @property
    def next_s(self) -> float | None:
        """When the next one is expected."""
        if self.newest is None or not self.interval_s:
            return None
        return self.newest.modified_s + self.interval_s

    def age_s(self, at_s: float) -> float | None:
        """Return how long ago the newest one was saved."""
        return max(0.0, at_s - self.newest.modified_s) if self.newest else None

    def is_overdue(self, at_s: float, elapsed_s: float = math.inf) -> bool:
        """Whether a run of ``elapsed_s`` has not saved one for over two usual intervals."""
        age_s = min(self.age_s(at_s) or 0.0, elapsed_s)
        return bool(self.interval_s and age_s > _OVERDUE_INTERVALS * self.interval_s)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """All that a look at the named folders of a job found; None for what is not named."""

    looked_s: float = 0.0
    outputs: Outputs | None = None
    checkpoints: Checkpoints | None = None
    disk: Disk | None = None  # that of the outputs, else that of the checkpoints
    searched_bytes: int = 0  # the size of the logs when they were last searched for a folder of outputs

    @property
    def folder(self) -> str:
        """Of the outputs, else of the checkpoints."""
        return next((each.folder for each in (self.outputs, self.checkpoints) if each and each.folder), "")

    @property
    def written_s(self) -> float | None:
        """When the latest output or checkpoint was modified; outputs that grow too slowly do not count."""
        saved = self.checkpoints.newest if self.checkpoints else None
        outputs = self.outputs
        written = [(outputs.fast_enough or outputs.total).modified_s] if outputs and outputs.count else []
        return max([*written, *([saved.modified_s] if saved else [])], default=None)


def name_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def without_digits(name: str) -> str:
    """Return a name without its numbers: the same for all files of one kind."""
    return "".join(letter for letter in name if not letter.isdecimal())


def parent_of(path: str) -> str:
    """Return the folder of a path; ``.`` if it has none."""
    before, slash, _ = path.rpartition("/")
    return before or slash or "."


def suffix_of(path: str) -> str:
    """Return a file's suffix with its dot, in lower case."""
    stem, dot, suffix = name_of(path).rpartition(".")
    if dot and stem:
        return f".{suffix.lower()}"
    return ""


class FileVerdict(StrEnum):
    """What is known of a file's content."""

    VALID = "valid"
    EMPTY = "empty"  # it has no bytes
    TRUNCATED = "truncated"  # its end is missing
    CORRUPT = "corrupt"
    UNKNOWN = "unknown"  # no format that jobmon can check, or a program still writes it
    UNREADABLE = "unreadable"  # missing, no permission, or not a regular file


# parts of `FileCheck.why` and `Checkpoint.why` that mark weak evidence, which is no damage
UNEVEN_ROWS = "columns in"  # of a table: many programs write such tables
SMALLER = "smaller than usual"  # of a checkpoint: the last one often holds less

_BAD = (FileVerdict.EMPTY, FileVerdict.TRUNCATED, FileVerdict.CORRUPT)


@dataclass(frozen=True, slots=True)
class FileCheck:
    """The verdict on one file. None means "not known"."""

    path: str
    format: str  # e.g. "json", "torch"
    verdict: FileVerdict
    why: str = ""  # completes a sentence that starts with the path, e.g. "ends inside its array"
    records: int | None = None  # rows, lines or elements of the outermost array, counted exactly
    size_bytes: int = 0
    columns: int | None = None
    note: str = ""  # what is odd about a valid file, e.g. "column loss: 40% of 1,000 values are NaN"
    is_sampled: bool = False  # parts were not read, so that damage in them is not known

    @property
    def is_bad(self) -> bool:
        """Whether the file is certainly not whole."""
        return self.verdict in _BAD
