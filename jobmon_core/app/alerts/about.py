"""What the user muted and acknowledged about one job, as the views show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.delivery.alert_rules import targets_of
from jobmon_core.store.messages.group_names import groups_of_job

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob


class JobAlerts(NamedTuple):
    """Until when a job is muted, and when it was acknowledged: each in Unix seconds, or None."""

    muted_until_s: float | None = None
    acknowledged_s: float | None = None


def job_alerts(ctx: Context, job: WatchedJob) -> JobAlerts:
    """Return what the user muted and acknowledged about a job."""
    user = ctx.alerts.user()
    groups = groups_of_job(ctx.groups, job.id) if user.mutes else ()
    until_s = user.muted_until_s(targets_of(job.id, groups, ""), ctx.clock.now())
    return JobAlerts(until_s, user.acks.get(job.id))
