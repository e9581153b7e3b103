"""Use case: acknowledge what was reported about a job, so that nothing reminds of it any more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.recover import name_of

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.alert_rules import MutesAndAcks


def acknowledge(ctx: Context, argument: str) -> tuple[str, int]:
    """Acknowledge all that was reported about a job so far; return its name and how many reminders end.

    Raises:
        UnknownJob: jobmon has no record of such a job.
        StateUnreadable: the job has a state file that cannot be read.
        StorageFailed: the acknowledgement cannot be saved.
    """
    job, _ = find_job(ctx, argument)
    now_s = ctx.clock.now()

    def change(user: MutesAndAcks) -> MutesAndAcks:
        user = user.current(now_s)
        return replace(user, acks={**user.acks, job.id: now_s})

    ctx.alerts.change_user(change)
    return name_of(job), sum(entry.is_open and entry.reminders > 0 for entry in job.outbox)
