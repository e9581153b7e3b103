"""Whether a file is whole, as its format tells: the verdict on one file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    format: str  # e.g. "json", "torch"; empty if it is not known
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
