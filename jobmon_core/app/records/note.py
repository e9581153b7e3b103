"""Note something about a job; find its notes, and that of an earlier job with the same failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import JobmonError, StateUnreadable
from jobmon_core.domain.job.notes import MAX_NOTES, MAX_TEXT_CHARS, JobNotes, Note, fingerprints
from jobmon_core.domain.many.provenance.compare import submitted_s
from jobmon_core.domain.redaction import redacted
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_LOCK_TIMEOUT_S = 10.0


class KnownFailure(NamedTuple):
    """An earlier job that failed in the same way and has a note."""

    ref: JobRef
    note: Note


class JobMemory(NamedTuple):
    """What the user noted about a job, and what earlier jobs say about its failure."""

    notes: tuple[Note, ...] = ()
    known: KnownFailure | None = None
    changes: str = ""  # since the job last worked; of the first task that has them


def job_memory(ctx: Context, job: WatchedJob, key: str = "") -> JobMemory:
    """Return the notes and the earlier failure of a job, or of its task ``key``."""
    found = [task.diagnosis for task in job.tasks.values() if task.diagnosis and key in ("", task.key)]
    failures = {diagnosis.fingerprint for diagnosis in found if diagnosis.fingerprint}
    changes = next((diagnosis.changes for diagnosis in found if diagnosis.changes), "")
    return JobMemory(ctx.notes(job.id).read().notes, known_failure(ctx, job, failures), changes)


def add_note(ctx: Context, argument: str, text: str) -> tuple[JobRef, bool]:
    """Append a note to the newest job that ``argument`` names; return it, and whether a secret was hidden.

    Raise JobmonError if the text is empty or too long, or the job has too many notes.
    """
    job, _ = find_job(ctx, argument)
    clean = redacted(text.strip())
    if not clean:
        raise JobmonError(f"job {job.ref}: the note is empty")
    if len(clean) > MAX_TEXT_CHARS:
        raise JobmonError(f"job {job.ref}: a note has at most {MAX_TEXT_CHARS} characters, not {len(clean)}")
    # without the lock, one of two notes at the same time would be lost
    with command_lock(ctx.home.monitors / "notes.lock", "jobmon note", _LOCK_TIMEOUT_S):
        file = ctx.notes(job.id)
        notes = file.read_to_change().notes
        if len(notes) >= MAX_NOTES:
            raise JobmonError(f"job {job.ref} has {MAX_NOTES} notes already, and can have no more")
        file.write(JobNotes((*notes, Note(ctx.clock.now(), clean))))
    return job.ref, clean != text.strip()


def known_failure(ctx: Context, job: WatchedJob, wanted: set[str]) -> KnownFailure | None:
    """Return the newest earlier job that has a note and one of the fingerprints ``wanted``, if any."""
    if not wanted:
        return None
    earlier: list[tuple[float, WatchedJob]] = []
    for path in ctx.home.notes.glob("*.json"):  # few jobs have notes
        try:
            other = ctx.store.load(path.stem)
        except StateUnreadable:
            continue  # `jobmon status` reports it
        if other.id != job.id and submitted_s(other) <= submitted_s(job) and wanted & fingerprints(other):
            earlier.append((submitted_s(other), other))
    if not earlier:
        return None
    other = max(earlier, key=lambda pair: pair[0])[1]
    notes = ctx.notes(other.id).read().notes
    return KnownFailure(other.ref, notes[-1]) if notes else None
