"""Try out a restart: cancel the first attempt once it has saved; see whether the second goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.restarts.pick import is_still, pick
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.domain.job.restart.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.model import Lineage, PickedCheckpoint
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.scheduler.base import JobControl

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
