"""Notes of the user about a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import WatchedJob

MAX_TEXT_CHARS: Final = 4000
MAX_NOTES: Final = 100  # of one job
MAX_FILE_BYTES: Final = MAX_NOTES * (MAX_TEXT_CHARS * 12 + 64)  # JSON escapes a character with up to 12


@dataclass(frozen=True, slots=True)
class Note:
    """One note."""

    at_s: float  # when it was written (Unix seconds)
    text: str  # without secrets; may have several lines


@dataclass(frozen=True, slots=True)
class JobNotes:
    """The notes about one job, oldest first."""

    notes: tuple[Note, ...] = ()


def fingerprints(job: WatchedJob) -> set[str]:
    """Return the fingerprints of the failures of a job's tasks."""
    found = (task.diagnosis.fingerprint for task in job.tasks.values() if task.diagnosis)
    return {each for each in found if each}
