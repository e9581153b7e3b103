"""The user's notes about a job, the same failure of an earlier job, and what changed since a success."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.diagnosis import known_json, known_text
from jobmon.views.model import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.records.note import JobMemory
    from jobmon_core.domain.notes.model import Note

CHANGED, KNOWN, NOTED = "changed", "known", "your note"  # the names of the rows


def findings_rows(memory: JobMemory) -> Iterator[tuple[str, str]]:
    """Yield names and values for ``jobmon show``."""
    if memory.changes:
        yield CHANGED, memory.changes
    if memory.known:
        yield KNOWN, known_text(memory.known)
    yield from ((NOTED, note_text(note)) for note in memory.notes)


def note_text(note: Note) -> str:
    """Return a note after its time."""
    return f"{stamp(note.at_s, '%Y-%m-%d %H:%M')}: {note.text}"


def findings_json(memory: JobMemory) -> dict[str, Any]:
    """Return the keys that ``jobmon show --json`` adds."""
    return {
        "user_notes": notes_json(memory.notes),
        "known_failure": known_json(memory.known),
        "changes": memory.changes,
    }


def notes_json(notes: tuple[Note, ...]) -> list[dict[str, Any]]:
    """Return notes for a program."""
    return [{"at": note.at_s, "text": note.text} for note in notes]
