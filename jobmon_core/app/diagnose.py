"""Why did it fail? Asked for a job, whoever knows it, or for any log files, without any job."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import explain, explain_files
from jobmon_core.analysis.explainer import evidence_of, unique_job_id
from jobmon_core.analysis.job_logs import log_files, with_script_logs
from jobmon_core.app.lookup import look_up
from jobmon_core.app.patterns import own_patterns
from jobmon_core.app.submit import state_id
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase
from jobmon_core.domain.tracking.model import FROM_WORST, Task, WatchedJob
from jobmon_core.domain.tracking.user_override import NOTHING_KNOWN
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.logs.rotated import find_rotated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from jobmon_core.context import Context
    from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
    from jobmon_core.domain.tracking.model import End
    from jobmon_core.domain.tracking.user_override import UserOverride
    from jobmon_core.scheduler.base import Scheduler

STDIN = "-"
_STDIN_SHOWN = "<stdin>"
_JOB = re.compile(r"[0-9]+(?:[_+][0-9]+)?")
# whose log is read: what failed, then what still runs, and a success only where there is nothing else
_FROM_WORST: tuple[Outcome | None, ...] = (*FROM_WORST[:-1], None, FROM_WORST[-1])
_ALIVE = "it still runs ({word}): this is what its log shows so far"
_SILENT = "Slurm can't be asked now; when it was seen last it had not ended"
_FORGOTTEN = "Slurm no longer knows it; when it was seen last it had not ended"


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of a job that a diagnosis is about."""

    ref: JobRef
    name: str
    task: Task
    end: End | None  # with what the user said of it; None while it runs and the user said nothing
    same_outcome: int = 1  # parts of the job that ended the same way, this one included
    total: int = 1  # all parts of the job


@dataclass(frozen=True, slots=True)
class Report:
    """A diagnosis, and what it is about."""

    diagnosis: Diagnosis
    subject: Subject | None = None  # None where it is about files
    unread: tuple[str, ...] = ()  # which of those could not be read and why


def parse_job(word: str) -> JobRef | None:
    """Return the job that a word of the command line names; None if it is no job id, or names a file too."""
    if _JOB.fullmatch(word) is None or os.path.lexists(word):
        return None
    try:
        return JobRef.parse(word)
    except ValueError:  # more digits than an id of Slurm has
        return None


@dataclass(frozen=True, slots=True)
class DiagnoseCommand:
    """Diagnoses for one user, whose own patterns are laid over the shipped ones."""

    ctx: Context
    scheduler: Callable[[str, str], Scheduler]  # by backend and cluster

    def of_files(self, paths: Sequence[str], said: UserOverride, stdin: BinaryIO) -> Report:
        """Diagnose log files; ``-`` stands for ``stdin``.

        Raises:
            JobmonError: none of them can be read.
        """
        with ExitStack() as stack:
            spooled = stack.enter_context(tempfile.NamedTemporaryFile()) if STDIN in paths else None
            if spooled:
                shutil.copyfileobj(stdin, spooled)
                spooled.flush()
            faults = {path: why for path in paths if path != STDIN and (why := _fault(path))}
            unread = tuple(f"{path} {why}" for path, why in faults.items())
            readable = [path for path in paths if path not in faults]
            if not readable:
                raise JobmonError("; ".join(unread))
            spool = spooled.name if spooled else ""
            files = [spool if path == STDIN else path for path in readable]
            found = explain_files(_evidence(said.apply_to(NOTHING_KNOWN)), files, own_patterns(self.ctx))
        return Report(_as_stdin(found, spool) if spool else found, unread=unread)

    def of_job(self, ref: JobRef, said: UserOverride) -> Report:
        """Diagnose a job, or the part of it that is worst off.

        Raises:
            UnknownJob: neither jobmon nor the scheduler knows it.
            SchedulerUnavailable: jobmon does not know it, and the scheduler can't be asked now.
            JobmonError: it has not started yet.
        """
        job, doubt = self._known(ref)
        task = _part(job, ref)
        if task is None or (task.end is None and not task.has_started and task.state.phase is Phase.WAITING):
            raise _no_log_yet(job, ref, task)
        end = said.apply_to(task.end or NOTHING_KNOWN)
        part = ref_of(job.job_id, task.key)
        patterns = own_patterns(self.ctx)
        found = explain(_evidence(end), *log_files(job, task), patterns, job_id=unique_job_id(job, task))
        found = replace(
            _quiet(found) if end == NOTHING_KNOWN else found,
            advice=found.advice.replace("JOBID", str(part)),
            note="; ".join(note for note in _notes(task, found.note, doubt) if note),
        )
        subject = Subject(part, job.name, task, None if end == NOTHING_KNOWN else end)
        whole = ref.job_id == job.job_id and not ref.key
        return Report(found, _among(subject, job) if whole else subject)

    def _known(self, ref: JobRef) -> tuple[WatchedJob, str]:
        """Return what is known of a job, and what makes that doubtful."""
        watch = find_watched(self.ctx, ref)
        if not watch:
            return self._looked_up(ref), ""
        job = watch[-1]
        part = _part(job, ref)
        if part is not None and part.end is not None:
            return (job if job.logs.source else with_script_logs(job, self._scheduler_of(job))), ""
        try:
            return look_up(job, self._scheduler_of(job), self.ctx.clock.now()), ""
        except SchedulerUnavailable:
            return job, _SILENT
        except UnknownJob:
            return job, _FORGOTTEN

    def _looked_up(self, ref: JobRef) -> WatchedJob:
        """Ask the scheduler about a job that nobody watched."""
        backend = self.ctx.configuration().backend
        now_s = self.ctx.clock.now()
        # all of an array, so that a task which it never had is told from one that is gone
        job = WatchedJob(state_id(backend, ref), ref.job_id, now_s, backend=backend)
        return look_up(job, self.scheduler(backend, ""), now_s)

    def _scheduler_of(self, job: WatchedJob) -> Scheduler:
        """Return the scheduler that has a job: by its cluster's name where that is not this machine's."""
        here = self.scheduler(job.backend, "")
        return self.scheduler(job.backend, job.cluster) if job.is_elsewhere(here.cluster_name) else here


def _fault(path: str) -> str:
    """Return why a file can't be read, as the end of a sentence on it; nothing if it can."""
    try:
        with regular_file(find_rotated(path)):
            return ""
    except Unreadable as unreadable:
        return str(unreadable)


def _as_stdin(found: Diagnosis, spool: str) -> Diagnosis:
    """Name standard input where the file is named that it was kept in."""
    evidence = (replace(line, file=line.file.replace(spool, _STDIN_SHOWN)) for line in found.evidence)
    return replace(
        found,
        evidence=tuple(evidence),
        log_path=found.log_path.replace(spool, _STDIN_SHOWN),
        note=found.note.replace(spool, _STDIN_SHOWN),
    )


def _evidence(end: End) -> SlurmEvidence:
    """Return what the judge goes by; whatever may still run has not failed, unless its log says so."""
    evidence = evidence_of(end)
    return replace(evidence, state=JobState.UNKNOWN) if evidence.state.is_alive else evidence


def _quiet(found: Diagnosis) -> Diagnosis:
    """Say of a job that still runs that its log tells nothing, rather than that its end is not known."""
    if found.cause or found.label or found.evidence:
        return found
    return replace(found, title="Nothing to diagnose yet", explanation="The log tells nothing so far.")


def _part(job: WatchedJob, ref: JobRef) -> Task | None:
    """Return the part that ``ref`` names, the worst one where it names many; None where none has begun."""
    if ref.job_id == job.job_id:
        named = [task for task in job.tasks.values() if not ref.key or task.key == ref.key]
    else:
        named = [task for task in job.tasks.values() if task.raw_job_id == ref.job_id]
    return min(named, key=_rank, default=None)


def _rank(task: Task) -> tuple[int, int]:
    outcome = task.end.outcome if task.end else None
    return _FROM_WORST.index(outcome), int(task.key or 0)


def _no_log_yet(job: WatchedJob, ref: JobRef, task: Task | None) -> JobmonError:
    """Say why there is nothing to diagnose."""
    waits = not ref.key or (ref.task is not None and ref.task in IndexSet.parse(job.pending_indices))
    if task is None and not waits:
        return UnknownJob(f"job {job.job_id} is known, but it has no {ref}")
    reason = task.reason if task else job.pending_reason
    why = f", {reason}" if reason not in ("", "None") else ""
    return JobmonError(f"job {ref} has not started (PENDING{why}): there is no log yet to diagnose")


def _notes(task: Task, hindered: str, doubt: str) -> tuple[str, ...]:
    """Return what the user should know about a diagnosis beside it."""
    if task.end is None:
        return doubt or _ALIVE.format(word=task.raw_state or "its state is not known"), hindered
    if task.end.state is JobState.CANCELLED and task.end.started_s is None:
        return (task.end.why or "it never started, so there is no log",)
    return task.end.why, hindered


def _among(subject: Subject, job: WatchedJob) -> Subject:
    """Tell how many parts of the job met the same."""
    outcome = subject.task.end.outcome if subject.task.end else None
    alike = sum(_rank(task)[0] == _FROM_WORST.index(outcome) for task in job.tasks.values())
    return replace(
        subject, same_outcome=alike, total=len(job.tasks) + len(IndexSet.parse(job.pending_indices))
    )
