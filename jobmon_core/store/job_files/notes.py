"""The user's notes about a job, in a file of their own: the state file belongs to the job's monitor."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.notes.model import MAX_NOTES, MAX_TEXT_CHARS, JobNotes
from jobmon_core.store.json_file import JsonFile

_MAX_BYTES = MAX_NOTES * (MAX_TEXT_CHARS * 12 + 64)  # JSON escapes a character with up to 12 bytes


@dataclass(frozen=True, slots=True)
class NotesFile(JsonFile[JobNotes]):
    """The notes about one job, see `Home.note_file`."""

    kind: type[JobNotes] = JobNotes
    max_bytes: int = _MAX_BYTES
