"""Submit the next attempt of a job by hand, from a complete checkpoint; try out a restart."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.analysis.restarts.decision import proof_of_death
from jobmon_core.analysis.restarts.pick import as_picked, checkpoint_at, is_still, pick
from jobmon_core.app.groups.jobs import update
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import may_still_run
from jobmon_core.app.restarts.lineages import wake_monitor
from jobmon_core.app.restarts.submit_attempt import submit_attempt
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.domain.backends import BY_TEXT, is_ray, submit_words
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import (
    BY_HAND,
    Attempt,
    Decision,
    Lineage,
    PickedCheckpoint,
    Verdict,
    why_alive,
)
from jobmon_core.domain.many.groups.model import Group
from jobmon_core.domain.many.provenance.script_references import without_values
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.scheduler.backends import cancel_command
from jobmon_core.store.lineages import RecordedSubmission, lineage_id_of
from jobmon_core.system.environment import user_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.model import SubmissionResult
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.scheduler.base import JobControl


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What will be submitted, and why that is safe."""

    job: WatchedJob  # the newest attempt
    lineage: Lineage  # a new one, if the job was part of none
    checkpoint: PickedCheckpoint | None  # None: from the start
    complete_why: str  # why it is complete, or why there is none
    proof: str  # that it is dead
    folder: str
    words: tuple[str, ...]  # the command, without values that may be secret
    notes: tuple[str, ...] = ()  # what is not as it was
    recorded: RecordedSubmission | None = None  # to be kept for the lineage, which has none

    @property
    def number(self) -> int:
        """The number of the attempt that will be submitted."""
        if self.lineage.newest:
            return self.lineage.newest.number + 1
        return 1


def plan_restart(ctx: Context, argument: str, from_: str = "") -> RestartPlan:
    """Return a plan to submit the next attempt of a job; ``from_`` is the path of a checkpoint, if not empty.

    Raise JobmonError if the job may still run, is an array or a het job, what it ran is not known, or the
    checkpoint is not complete.
    """
    job, _ = find_job(ctx, argument)
    lineage, notes = ctx.lineages.of_job(job), list[str]()
    if lineage and lineage.newest and lineage.newest.state_id != job.id:
        notes.append(f"job {job.ref} went on as {lineage.newest.job}, which is restarted")
        job = ctx.store.load(lineage.newest.state_id)
    task = _only_task(job)
    proof = _proof_of_death(ctx, job, task)
    checkpoint, about = _named(ctx, job, from_) if from_ else _newest(ctx, job, task, lineage)
    notes += _notes(job, lineage)
    kept = ctx.lineages.submission(lineage.id).read_to_change() if lineage else RecordedSubmission()
    if lineage and kept.folder:
        notes.append("its environment is that of the first submission")
        recorded = None
    else:
        # a later attempt was submitted with the checkpoint among its arguments
        plan = plan_rerun(ctx, lineage.attempts[0].job if lineage else str(job.ref), ())
        notes += [
            "its environment is that of this shell; jobmon has not kept the one of the first submission",
            *plan.changes,
        ]
        kept = recorded = replace(plan.recorded, environment=user_environment(ctx.environment))
    words, lineage = (
        (*_program(job, kept), *without_values(kept.arguments)),
        lineage or _new_lineage(ctx, job),
    )
    return RestartPlan(job, lineage, checkpoint, about, proof, kept.folder, words, tuple(notes), recorded)


def _notes(job: WatchedJob, lineage: Lineage | None) -> Iterator[str]:
    if job.outcome is Outcome.SUCCESS:
        yield f"job {job.ref} succeeded"
    if job.own_settings.chain and job.own_settings.chain.later:
        yield "the later stages of its chain do not start after it: submit them once it has succeeded"
    if lineage and lineage.ended_why and lineage.settings.mode is RestartMode.ON:
        yield "from then on, jobmon restarts it by itself again"


def _program(job: WatchedJob, kept: RecordedSubmission) -> tuple[str, ...]:
    if is_ray(job.backend):
        return (*submit_words(job.backend), "--", job.command)
    if job.backend in BY_TEXT:
        return (*submit_words(job.backend), job.name)
    if kept.run is None:
        return submit_words(job.backend)
    host = ("--host", job.cluster) if job.remote else ()
    return ("jobmon", "run", *host, "--")


def _only_task(job: WatchedJob) -> Task:
    if not job.tasks and not job.is_array:
        raise JobmonError(
            f"nothing is known of job {job.ref} yet, and two attempts must never run at the same time; "
            "try again when `jobmon status` shows its state"
        )
    if job.is_array or len(job.tasks) != 1:
        raise JobmonError(
            f"job {job.ref} is an array or het job, which jobmon does not restart; `jobmon rerun {job.ref}` "
            "submits it again, and `jobmon group submit` submits runs that can have restarts of their own"
        )
    return next(iter(job.tasks.values()))


def _proof_of_death(ctx: Context, job: WatchedJob, task: Task) -> str:
    """Return what proves that a job is dead; raise JobmonError, with what would prove it, if nothing does."""
    proof, how = proof_of_death(job, task, task.end) if task.end else ("", "")
    if proof and not may_still_run(job):
        if alive := why_alive(ctx.processes_left(job)):
            raise JobmonError(f"job {job.ref} has ended, but {alive}")
        return proof
    look, command = how or f"jobmon show {job.ref}", cancel_command(job)
    end_it = f", `{command}` ends it" if command else ""
    raise JobmonError(
        f"job {job.ref} is not known to be dead, and two attempts must never run at the same time; "
        f"`{look}` tells more{end_it}"
    )


def _newest(
    ctx: Context, job: WatchedJob, task: Task, lineage: Lineage | None
) -> tuple[PickedCheckpoint | None, str]:
    record, progress = ctx.run_record(job.id).taken(), ctx.progress_file(job.id).read()
    script = (record.script.text if record and record.script else None) or ""
    found = pick(
        job,
        task,
        progress,
        ctx.clock.now(),
        script=script,
        lineage=lineage or Lineage(),
        machine=ctx.machine(job),
    )
    if found is None:
        return None, f"no complete checkpoint is known (`jobmon checkpoints {job.ref}`): it begins anew"
    return found, "its files are all there and whole, as far as their structure and its markers show"


def _named(ctx: Context, job: WatchedJob, path: str) -> tuple[PickedCheckpoint, str]:
    machine = ctx.machine(job)
    if machine and not path.startswith("/"):
        raise JobmonError(f"{path} is on {job.cluster}: give its absolute path")
    path = os.path.abspath(path)  # noqa: PTH100 - a text; links stay as the user named them
    each, problem = checkpoint_at(path, ctx.clock.now(), machine)
    if each is None:
        why = problem or f"`jobmon checkpoints {shlex.quote(os.path.dirname(path))}` lists those there"  # noqa: PTH120 - texts
        raise JobmonError(f"{path} is no checkpoint that jobmon knows: {why}")
    if not each.is_complete:
        raise JobmonError(f"{path} is not known to be complete: {each.why}")
    picked = as_picked(each, machine)
    if picked is None:
        raise JobmonError(f"{path} or a file in it belongs to another user: loading it may run their code")
    return picked, "you named it; its files are all there and whole"


def _new_lineage(ctx: Context, job: WatchedJob) -> Lineage:
    asked = (job.own_settings.restart) or RestartSettings()
    settings = replace(asked, mode=RestartMode.OFF)
    (task,) = job.tasks.values()
    first = Attempt(
        0,
        job.id,
        str(job.ref),
        job.backend,
        job.cluster,
        float(job.submitted_s or job.registered_s),
        started_s=task.end.started_s if task.end else None,
        ended_s=task.end.ended_s if task.end else None,
    )
    return Lineage(lineage_id_of(job), ctx.clock.now(), settings, (first,))


def restart(ctx: Context, plan: RestartPlan, tell: Callable[[str], None]) -> SubmissionResult:
    """Save the decision, and submit the next attempt; a member of a group that it continues moves on."""
    with ctx.lineages.locked(plan.lineage.id):
        ctx.lineages.replace(plan.lineage.id, lambda now: _decided(ctx, plan, now))
        if plan.recorded:
            ctx.lineages.submission(plan.lineage.id).write(plan.recorded)
    result = submit_attempt(ctx, plan.lineage.id, plan.number)
    lineage = ctx.lineages.update(plan.lineage.id, lambda now: _without_order(plan, now, result))
    if lineage.settings.mode is RestartMode.OFF and not lineage.submitting:
        ctx.lineages.remove_submission(lineage.id)
    if submitted := lineage.attempt(plan.number):
        wake_monitor(ctx, plan.job.id)
        _move_members(ctx, plan.job.id, submitted.state_id, tell)
    return result


def _without_order(plan: RestartPlan, now: Lineage, result: SubmissionResult) -> Lineage:
    """No program submits it any more if that has failed: the user may try again."""
    newest = now.newest
    if result.retry_s is None or now.submitting or newest is None or newest.decision is None:
        return now
    asked = replace(newest.decision, verdict=Verdict.ASK, why=result.why)
    if newest.number < plan.number:
        return now.with_attempt(replace(newest, decision=asked))
    return now


def _decided(ctx: Context, plan: RestartPlan, now: Lineage) -> Lineage:
    lineage = now if now.id else plan.lineage
    newest = lineage.newest
    if newest is None or newest.number != plan.number - 1:
        raise JobmonError(
            f"job {plan.job.ref} went on as {newest.job if newest else 'another job'} meanwhile"
        )
    before, (task,) = newest.decision, plan.job.tasks.values()
    why = f"you restarted it{f'; before that: {before.why}' if before else ''}"
    decision = Decision(
        Verdict.RESTART,
        BY_HAND,
        why,
        ctx.clock.now(),
        (before.cause or before.rule if before else "")
        or (task.diagnosis.cause if task.diagnosis else "")
        or "",
        checkpoint=plan.checkpoint,
        not_before_s=ctx.clock.now(),
        proof=plan.proof,
        options=before.options if before else (),
    )
    lineage = replace(lineage, ended_why="", ended_s=None, is_held=False)
    return lineage.with_attempt(replace(newest, decision=decision))


def _move_members(ctx: Context, old: str, new: str, tell: Callable[[str], None]) -> None:
    for name in ctx.groups.names():
        try:
            group = ctx.groups.load(name)
            if run := group.name_of(old):
                member = group.members[run].with_attempt(new)
                update(ctx, name, partial(Group.with_member, name=run, member=member))
        except JobmonError as error:
            tell(f"group {name}: {error}")


_POLL_S = 5.0
_NEAR = 0.9  # of the step of the checkpoint: an attempt that begins earlier has not resumed from it


def drillable(ctx: Context, lineage: Lineage) -> tuple[WatchedJob, JobControl]:
    """Return the first attempt of a lineage, and what cancels it, if a drill is possible."""
    first, job = lineage.attempt(0), None
    if lineage.settings.mode is not RestartMode.ON or lineage.ended_why or lineage.is_held:
        why = lineage.ended_why or f"its restarts are {'held' if lineage.is_held else lineage.settings.mode}"
        raise JobmonError(f"no drill: no attempt would follow, since {why}")
    if (
        first is None
        or len(lineage.attempts) > 1
        or first.decision
        or (job := ctx.store.load(first.state_id)).ended
    ):
        raise JobmonError("no drill: it needs the first attempt of a job, while that is pending or running")
    return job, ctx.job_control(job.backend, job.other_cluster)


def drill(ctx: Context, lineage_id: str, at_step: int, tell: Callable[[str], None]) -> bool:
    """Cancel the first attempt once it has a complete checkpoint; return whether the second resumed from it.

    It waits for as long as that takes; after the cancellation, the monitors go on without the caller. The
    checkpoint must have reached ``at_step``.
    """
    found: PickedCheckpoint | None = None
    while not (found and is_still(found)):  # one that was being written has changed since the last look
        found = _checkpoint(ctx, lineage_id, at_step)
        ctx.clock.wait(_POLL_S)
    job, control = drillable(ctx, ctx.lineages.load(lineage_id))
    # noted first: else its end would be a cancellation by somebody, after which no attempt follows
    ctx.lineages.update(lineage_id, lambda lineage: replace(lineage, drill_s=ctx.clock.now()))
    if error := control.cancel([job.ref]):
        ctx.lineages.update(lineage_id, lambda lineage: replace(lineage, drill_s=None))
        raise JobmonError(f"job {job.ref} could not be cancelled: {error}")
    tell(f"{found.path} is complete, so job {job.ref} is cancelled; attempt 1 follows")
    while not (result := _result(ctx.lineages.load(lineage_id))):
        ctx.clock.wait(_POLL_S)
    has_resumed, text = result
    tell(text)
    return has_resumed


def _checkpoint(ctx: Context, lineage_id: str, at_step: int) -> PickedCheckpoint | None:
    lineage = ctx.lineages.load(lineage_id)
    job, _ = drillable(ctx, lineage)
    if not job.is_running:
        return None
    task, progress = next(iter(job.tasks.values())), ctx.progress_file(job.id).read()
    found = pick(job, task, progress, ctx.clock.now(), lineage=lineage)
    if found and (found.step or 0) >= at_step:
        return found
    return None


def _result(lineage: Lineage) -> tuple[bool, str] | None:
    first, second = lineage.attempt(0), lineage.attempt(1)
    if second and second.first_step is not None and second.resume and second.resume.step is not None:
        has_resumed = second.first_step >= _NEAR * second.resume.step
        what = "resumed" if has_resumed else "did not resume"
        begin = f"its first step is {second.first_step}, that of the checkpoint {second.resume.step}"
        return has_resumed, f"attempt 1 (job {second.job}) {what}: {begin}"
    if second and second.decision:
        return (
            False,
            f"attempt 1 (job {second.job}) has ended, and its log shows no step: {second.decision.why}",
        )
    decision = first.decision if first else None
    if lineage.ended_why or (decision and decision.verdict is not Verdict.RESTART):
        return False, f"no attempt follows: {lineage.ended_why or (decision.why if decision else '')}"
    return None
