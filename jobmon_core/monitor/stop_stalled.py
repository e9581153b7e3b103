"""Cancel an attempt that has stalled for longer than the user allows; what follows is decided as usual."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED
from jobmon_core.domain.logs.progress.events.ongoing import ongoing_events

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event


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
