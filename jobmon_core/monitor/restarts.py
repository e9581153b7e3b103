"""Restarts, for the monitor of a job: decide after its end, submit the next attempt, end one that stalls.

The decision is saved in the lineage before the job's state has it, and is never made twice. Another program
submits the attempt (`jobmon_core.app.restarts`): it holds the lineage's lock, and outlives this monitor.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.domain.job.restart.model import (
    Attempt,
    Decision,
    Lineage,
    SubmissionResult,
    Verdict,
    why_alive,
)
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import ongoing_events
from jobmon_core.domain.messages.parts import with_message
from jobmon_core.domain.messages.what_follows import began_anew, not_restarted
from jobmon_core.system.environment import own_secrets
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.json_codec import from_json
from jobmon_core.system.runner import Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import AttemptPlace
    from jobmon_core.domain.job.tracking.model import WatchedJob

    Log = Callable[[str], None]
    from jobmon_core.domain.logs.progress.events.event import Event

_DECISION_TIMEOUT_S = 120.0  # it reads the log and verifies checkpoints
_DECISION_TRIES = 2
_SUBMISSION_TIMEOUT_S = 180.0  # then the submission goes on, and the next try finds out what became of it
_RETRY_S = 60.0  # also the time between two looks whether the user has released a held lineage
_IS_LATE_S = 3600.0  # then a message says that the attempt cannot be submitted
_LATE = "restart-late"  # the subject of that alert
_NOT_RESUMED = "progress-not-resumed"  # in the subject of the alert about it while the attempt runs
_MODULE = "jobmon_core.app.restarts"
_CLOCK_SKEW_S = 60.0  # between this host and the one that dates ends


def _new_decision(ctx: Context, job: WatchedJob, lineage: Lineage) -> Decision:
    from jobmon_core.analysis.restarts.decision import (
        Submitted,
        decision_about,  # only in the helper
    )
    from jobmon_core.store.history.lines import recent

    submission = ctx.lineages.submission(lineage.id).read()
    record = ctx.run_record(job.id).taken()  # where restarts are only observed, there is no more
    others = [each for each in ctx.lineages.readable() if each.id != lineage.id]
    return decision_about(
        job,
        lineage,
        others,
        ctx.progress_file(job.id).read(),
        Submitted(submission.arguments or (record.arguments if record else ()), submission.script or ""),
        now_s=ctx.clock.now(),
        alive=why_alive(ctx.processes_left(job)),
        machine=ctx.machine(job),
        earlier_runs=lambda: recent(ctx.home.history, ctx.clock.now()),
    )


def decide_restart(
    ctx: Context,
    helper: Helper,
    log: Log,
    job: WatchedJob,
    decide: Callable[[Context, WatchedJob, Lineage], Decision] = _new_decision,
) -> Decision:
    """Return whether another attempt follows an ended job; it is saved in the lineage.

    If that fails twice, the user must decide: nothing of it may delay the message about the end.
    """
    for _ in range(_DECISION_TRIES):
        try:
            decision = helper.run(Decision, lambda: _decided(ctx, job, decide), _DECISION_TIMEOUT_S)
            break
        except HelperFailed as error:
            log(f"{job.job_id}: whether another attempt follows could not be decided: {error}")
    else:
        decision = _ask(ctx, f"jobmon could not decide, see `jobmon logs --monitor {job.ref}`")
    log(f"{job.job_id}: {decision.verdict}: {decision.why}")
    return decision


def _decided(
    ctx: Context, job: WatchedJob, decide: Callable[[Context, WatchedJob, Lineage], Decision]
) -> Decision:
    place = _place(job)
    try:
        lineage = ctx.lineages.load(place.lineage)
        if not lineage.id:
            raise StorageFailed(f"there is no record of its lineage {place.lineage}")
        if _attempt(lineage, job).decision is None:
            decision = decide(ctx, job, lineage.with_attempt(_attempt(lineage, job)))
            lineage = ctx.lineages.update(place.lineage, lambda now: _with_decision(now, job, decision))
        if lineage.ended_s is not None:
            ctx.lineages.remove_submission(place.lineage)
    except JobmonError as error:
        return _ask(ctx, str(error))
    return _attempt(lineage, job).decision or _ask(ctx, "its decision was removed")


def _with_decision(lineage: Lineage, job: WatchedJob, decision: Decision) -> Lineage:
    attempt = _attempt(lineage, job)
    if attempt.decision:
        return lineage
    return lineage.decided(attempt, decision)


def _attempt(lineage: Lineage, job: WatchedJob) -> Attempt:
    """Return the attempt that a job is, without the decision about an earlier end if Slurm ran it again."""
    number = _place(job).number
    attempt = lineage.attempt(number) or Attempt(number, job.id, str(job.ref), job.backend)
    ends = [task.end for task in job.tasks.values() if task.end]
    start_s, end_s = next(((end.started_s, end.ended_s) for end in ends), (None, None))
    is_earlier = attempt.decision and (end_s or 0) > attempt.decision.decided_s + _CLOCK_SKEW_S
    decision = attempt.decision
    if is_earlier:
        decision = None
    return replace(attempt, started_s=start_s, ended_s=end_s, decision=decision)


def _ask(ctx: Context, why: str) -> Decision:
    return Decision(Verdict.ASK, "failed", why, ctx.clock.now())


def restart(ctx: Context, log: Log, job: WatchedJob) -> WatchedJob:
    """Have the next attempt submitted; return the job with what came of that."""
    place, now_s = _place(job), ctx.clock.now()
    number = place.number + 1
    try:
        if ctx.lineages.load(place.lineage).is_held:
            return replace(job, restart_due_s=now_s + _RETRY_S)
        result = _submitted(ctx, place, number, now_s)
    except StorageFailed as error:
        result = SubmissionResult(retry_s=now_s + _RETRY_S, why=str(error))
    why = " ".join(result.why.split())
    log(f"{job.job_id}: attempt {number}: {f'submitted as job {result.job}' if result.job else why}")
    if result.retry_s is not None:
        due_s = now_s
        if job.decision:
            due_s = job.decision.not_before_s
        if now_s - due_s > _IS_LATE_S and _LATE not in job.alerted:
            message = not_restarted(job, number, f"{why}; jobmon tries again", now_s)
            job = with_message(job, message, _LATE)
        return replace(job, restart_due_s=result.retry_s)
    if result.decision is not None:
        message = not_restarted(job, number, why, now_s)
        job = with_message(replace(job, decision=result.decision), message)
    return replace(job, restart_due_s=None)


def with_late_warning(ctx: Context, job: WatchedJob) -> WatchedJob:
    """Return an ended attempt with a message if only the look after its end found that it began anew."""
    if any(_NOT_RESUMED in each for each in job.alerted):
        return job
    events = ctx.progress_file(job.id).read().events
    found = (each for each in events if each.kind is EventKind.NOT_RESUMED and each.is_critical)
    if (event := next(found, None)) is None:
        return job
    return with_message(job, began_anew(job, event, ctx.clock.now()), _NOT_RESUMED)


def _submitted(ctx: Context, place: AttemptPlace, number: int, now_s: float) -> SubmissionResult:
    argv = [sys.executable, "-P", "-m", _MODULE, str(ctx.home.root), place.lineage, str(number)]
    # the attempt's monitor needs the secrets; with LC_CTYPE, one that the user set is passed on to the job
    variables = {**own_secrets(os.environ), "LC_CTYPE": "C"}
    ran = Runner().capture_with(variables, argv, _SUBMISSION_TIMEOUT_S)
    if isinstance(ran, Ran) and (lines := ran.stdout.splitlines()):
        try:
            return from_json(SubmissionResult, json.loads(lines[-1]))
        except ValueError as error:  # DecodeError is one
            why = f"its program's answer cannot be read: {error}"
    else:
        why = ran.error_text.removeprefix(f"{sys.executable}: ")
    return SubmissionResult(retry_s=now_s + _RETRY_S, why=why)


def _place(job: WatchedJob) -> AttemptPlace:
    if job.attempt is None:
        raise ValueError(f"job {job.ref} is part of no lineage")
    return job.attempt


def stop_if_stalled(
    ctx: Context,
    log: Callable[[str], None],
    job: WatchedJob,
    events: tuple[Event, ...],
    save: Callable[[WatchedJob], None],
) -> None:
    """Cancel an attempt whose latest events say that its stall counts as a failure.

    That is noted in the job's state first; else its end would be a cancellation by somebody, after which no
    attempt follows. If the job cannot be cancelled, the note is removed, and the next look tries again.
    """
    place, task = job.attempt, next(iter(job.tasks), "")
    if place is None or all(event.subject != STALL_CANCELLED for event in ongoing_events(events, task)):
        return
    try:
        lineage = ctx.lineages.load(place.lineage)
        if lineage.settings.stall_limit_s is None or lineage.is_held or lineage.ended_why:
            return
        save(replace(job, alerted=tuple(dict.fromkeys((*job.alerted, STALL_CANCELLED)))))
        control = ctx.job_control(job.backend, job.other_cluster)
        error = control.cancel([job.ref])
    except JobmonError as failed:
        error = str(failed)
    if error:
        save(replace(job, alerted=tuple(each for each in job.alerted if each != STALL_CANCELLED)))
    log(f"{job.job_id}: it has stalled for too long: {error or 'cancelled, as the user ordered'}")
