"""Use case: explain why a job failed, or what log files show without a job."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.outputs import with_known_outputs
from jobmon_core.analysis.ending.run_changes import changes_lines
from jobmon_core.analysis.explain import NOTHING_TO_READ, explain_files
from jobmon_core.analysis.explainer import evidence_of, explain_task, with_progress, with_tracked_runs
from jobmon_core.analysis.job_logs import last_write_s, log_files, own_files, with_script_logs
from jobmon_core.analysis.triage import take_stacks, with_workers
from jobmon_core.app.jobs.find import STDIN
from jobmon_core.app.jobs.lookup import look_up
from jobmon_core.app.jobs.overview import is_waiting, why_not_started, worst_task
from jobmon_core.app.live.verdict import live_verdict
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.app.records.note import known_failure
from jobmon_core.domain.backends import BY_TEXT, Machine, scheduler_phrase
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.job.tracking.lost_worker import with_lost_worker
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.job.tracking.user_override import NOTHING_KNOWN
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, ref_of
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.observe.logs.open_file import Unreadable, find_rotated, regular_file
from jobmon_core.scheduler.backends import display_name
from jobmon_core.store.jobs import state_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from jobmon_core.app.live.verdict import LiveVerdict
    from jobmon_core.app.records.note import KnownFailure
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import End
    from jobmon_core.domain.job.tracking.user_override import UserOverride
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.node.triage.stacks import Stacks
    from jobmon_core.scheduler.base import Scheduler

_STDIN_NAME = "<stdin>"
_JOB_ID = re.compile(r"[0-9]+(?:[_+][0-9]+)?")
_STILL_RUNNING = "the job has not ended ({word}); this is what its log shows so far"
_UNREACHABLE = "{scheduler} gave no answer; the job had not ended when it was last seen"
_FORGOTTEN = "{scheduler} no longer knows the job; it had not ended when it was last seen"


class NotStarted(JobmonError):
    """The job has no log yet, because it has not started."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The job, task or component that a diagnosis is about."""

    ref: JobRef
    name: str
    task: Task
    end: End | None  # with the user's override; None if it has not ended and there is no override
    same_outcome: int = 1  # tasks of the job with this outcome
    total: int = 1  # tasks of the job
    same_cause: str = ""  # indices of the tasks with this cause, e.g. ``1,4,7``
    other_causes: tuple[str, ...] = ()  # e.g. ``Out of memory (tasks 2,3)``


@dataclass(frozen=True, slots=True)
class Report:
    """A diagnosis and its subject."""

    diagnosis: Diagnosis
    subject: Subject | None = None  # None for files
    unread: tuple[str, ...] = ()  # with the reason
    live: LiveVerdict | None = None
    stacks: Stacks | None = None  # if asked for
    known: KnownFailure | None = None


def parse_job(argument: str) -> JobRef | None:
    """Return the job that an argument names; None if it is no job id, or a file has that name."""
    if _JOB_ID.fullmatch(argument) is None or os.path.lexists(argument):
        return None
    try:
        return JobRef.parse(argument)
    except ValueError:  # more digits than a job id of Slurm has
        return None


@dataclass(frozen=True, slots=True)
class DiagnoseCommand:
    """Diagnoses jobs and log files."""

    ctx: Context
    scheduler: Callable[[str, str], Scheduler]  # by backend and cluster

    def of_files(self, paths: Sequence[str], override: UserOverride, stdin: BinaryIO) -> Report:
        """Diagnose log files, of which ``-`` is ``stdin``; raise JobmonError if none can be read."""
        with ExitStack() as stack:
            spooled = stack.enter_context(tempfile.NamedTemporaryFile()) if STDIN in paths else None
            if spooled:
                shutil.copyfileobj(stdin, spooled)
                spooled.flush()
            spool = spooled.name if spooled else ""
            errors = {path: why for path in paths if path != STDIN and (why := _read_error(path))}
            unread = tuple(f"{path} {why}" for path, why in errors.items())
            files = [spool if path == STDIN else path for path in paths if path not in errors]
            if not files:
                raise JobmonError("; ".join(unread))
            evidence = evidence_of(override.apply_to(NOTHING_KNOWN))
            diagnosis = explain_files(evidence, files, own_pattern_file(self.ctx))
        return Report(_as_stdin(diagnosis, spool) if spool else diagnosis, unread=unread)

    def of_job(self, ref: JobRef, override: UserOverride, *, with_stacks: bool = False) -> Report:
        """Diagnose the task that ``ref`` names; of several, the one with the worst outcome.

        ``with_stacks`` takes the stacks of its processes, if it runs.

        Raises:
            UnknownJob: neither jobmon nor the scheduler knows the job, or it has no such task.
            SchedulerUnavailable: jobmon does not know it, and the scheduler does not respond.
            NotStarted: it has not started yet.
        """
        job, caveat = self._find(ref)
        task = _find_task(job, ref)
        if task is None or is_waiting(task):
            raise _no_log_yet(job, ref, task, self.ctx.clock.now())
        end = override.apply_to(task.end or NOTHING_KNOWN)
        part = ref_of(job.job_id, task.key)
        diagnosis = explain_task(job, task, end, own_pattern_file(self.ctx))
        if end is task.end:
            diagnosis = self._as_at_its_end(job, task, end, diagnosis)
        diagnosis = replace(
            _nothing_yet(diagnosis) if end == NOTHING_KNOWN else diagnosis,
            advice=diagnosis.advice.replace("JOBID", str(part)),
            note="; ".join(note for note in _notes(task, diagnosis.note, caveat) if note),
        )
        subject = Subject(part, job.name, task, None if end == NOTHING_KNOWN else end)
        whole = ref.job_id == job.job_id and not ref.key
        known = known_failure(self.ctx, job, {diagnosis.fingerprint} - {""})
        report = Report(diagnosis, _with_totals(subject, job, diagnosis) if whole else subject, known=known)
        is_running = task.state is JobState.RUNNING and task.end is None
        if not is_running or end != NOTHING_KNOWN:
            return report
        stacks = take_stacks(job, task, self.ctx.telemetry(job.id, task.key)) if with_stacks else None
        return replace(report, live=live_verdict(self.ctx, job, task), stacks=stacks)

    def _as_at_its_end(self, job: WatchedJob, task: Task, end: End, diagnosis: Diagnosis) -> Diagnosis:
        progress = self.ctx.progress_file(job.id).read()
        followed = progress.tasks.get(task.key)
        diagnosis = with_progress(diagnosis, job, end, followed)
        diagnosis = with_tracked_runs(diagnosis, job, task, followed)
        diagnosis = with_lost_worker(diagnosis, end, progress.events, task.key)
        diagnosis = with_workers(diagnosis, end, followed, self.ctx.telemetry(job.id, task.key))
        diagnosis = with_known_outputs(diagnosis, task.diagnosis)
        diagnosis = _recorded(job, task, diagnosis) or diagnosis
        changes = changes_lines(self.ctx.home, self.ctx.store, job, {task.key: diagnosis})
        return replace(diagnosis, changes=changes.get(task.key, ""))

    def _find(self, ref: JobRef) -> tuple[WatchedJob, str]:
        """Return what is known about a job, and a caveat if that may be out of date."""
        watched = find_watched(self.ctx, ref)
        if not watched:
            return self._look_up_unwatched(ref), ""
        job = watched[-1]
        part = _find_task(job, ref)
        if part is not None and part.end is not None:
            return (job if job.logs.source else with_script_logs(job, self._scheduler_of(job))), ""
        try:
            return look_up(job, self._scheduler_of(job), self.ctx.clock.now()), ""
        except SchedulerUnavailable:
            return job, _UNREACHABLE.format(scheduler=display_name(job.backend))
        except UnknownJob:
            return job, _FORGOTTEN.format(scheduler=display_name(job.backend))

    def _look_up_unwatched(self, ref: JobRef) -> WatchedJob:
        backend = self.ctx.configuration().backend
        if backend in BY_TEXT:  # its jobs have no numbers of their own
            whose = scheduler_phrase(backend, "")
            raise UnknownJob(
                f"no record of job {ref}; a job of {whose} is watched by its id: `jobmon watch ID`"
            )
        now_s = self.ctx.clock.now()
        # of the whole array, even if `ref` is one task: its other tasks show whether such a task existed
        job = WatchedJob(state_id(backend, ref), ref.job_id, now_s, backend=backend)
        return look_up(job, self.scheduler(backend, ""), now_s)

    def _scheduler_of(self, job: WatchedJob) -> Scheduler:
        """It may run on another cluster than this host's."""
        local = self.scheduler(job.backend, "")
        return self.scheduler(job.backend, job.cluster) if job.is_elsewhere(local.cluster_name) else local


def _read_error(path: str) -> str:
    try:
        with regular_file(find_rotated(path)):
            return ""
    except Unreadable as unreadable:
        return str(unreadable)


def _as_stdin(diagnosis: Diagnosis, spool: str) -> Diagnosis:
    evidence = (replace(line, file=line.file.replace(spool, _STDIN_NAME)) for line in diagnosis.evidence)
    return replace(
        diagnosis,
        evidence=tuple(evidence),
        log_path=diagnosis.log_path.replace(spool, _STDIN_NAME),
        note=diagnosis.note.replace(spool, _STDIN_NAME),
    )


def _recorded(job: WatchedJob, task: Task, found: Diagnosis) -> Diagnosis | None:
    """Return what was found when a task ended, if its logs do not show that any more; None if they do."""
    recorded = task.diagnosis
    if recorded is None or not (recorded.cause or recorded.evidence):
        return None
    own, why = own_files(job, task), ""
    is_copy = own.machine is not Machine.THIS  # which jobmon completes after the end
    if not is_copy and (last_write_s(log_files(job, task)) or 0.0) > own.until_s:
        why = "its log was written after its end, perhaps by another job"
    elif found.note.startswith(NOTHING_TO_READ):
        why = found.note
    if not why:
        return None
    origin = "this is what was found when the job ended"
    return recorded.with_note(origin if why in recorded.note else f"{why}; {origin}")


def _nothing_yet(diagnosis: Diagnosis) -> Diagnosis:
    if diagnosis.cause or diagnosis.label or diagnosis.evidence:
        return diagnosis
    return replace(diagnosis, title="Nothing to diagnose yet", explanation="The log shows no failure so far.")


def _find_task(job: WatchedJob, ref: JobRef) -> Task | None:
    if ref.job_id == job.job_id:
        named = [task for task in job.tasks.values() if not ref.key or task.key == ref.key]
    else:
        named = [task for task in job.tasks.values() if task.raw_job_id == ref.job_id]
    return worst_task(named)


def _no_log_yet(job: WatchedJob, ref: JobRef, task: Task | None, now_s: float) -> JobmonError:
    if job.lacks_part(ref.key):
        return UnknownJob(f"unknown job {ref}: job {job.job_id} has no such task")
    return NotStarted(f"job {ref} {why_not_started(job, task, now_s)}, so there is no log to diagnose")


def _notes(task: Task, note: str, caveat: str) -> tuple[str, ...]:
    if task.end is None:
        return caveat or _STILL_RUNNING.format(word=task.raw_state or "state unknown"), note
    if task.end.state is JobState.CANCELLED and task.end.started_s is None:
        return (task.end.why or "the job never started, so there is no log",)
    return task.end.why, note


def _with_totals(subject: Subject, job: WatchedJob, diagnosis: Diagnosis) -> Subject:
    outcome = subject.task.end and subject.task.end.outcome
    same_outcome = sum((task.end and task.end.outcome) is outcome for task in job.tasks.values())
    total = len(job.tasks) + len(IndexSet.parse(job.pending_indices))
    same_cause = _same_cause(subject.task, job, diagnosis)
    others = [group for group in cause_groups(job) if subject.task.key not in group.keys]
    other_causes = tuple(
        f"{group.cause} ({'task' if len(group.keys) == 1 else 'tasks'} {group.indices})" for group in others
    )
    return replace(
        subject, same_outcome=same_outcome, total=total, same_cause=same_cause, other_causes=other_causes
    )


def _same_cause(task: Task, job: WatchedJob, diagnosis: Diagnosis) -> str:
    if not diagnosis.cause or task.diagnosis is None or task.diagnosis.cause != diagnosis.cause:
        return ""
    groups = (group for group in cause_groups(job) if task.key in group.keys and len(group.keys) > 1)
    return next((group.indices for group in groups), "")
