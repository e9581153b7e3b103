"""Jobs that are restarted: submit the next attempt of one, and what became of the attempts so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.api.arguments import absolute, options
from jobmon.api.records import Attempt, record_from
from jobmon.api.submitting import watched
from jobmon_core.app.from_python import open_context
from jobmon_core.app.restarts.lineages import lineage_of
from jobmon_core.domain.job.restart.summary import lost_steps, start_step, with_following

if TYPE_CHECKING:
    from jobmon.api.arguments import FileName, JobName
    from jobmon.api.records import Job


def restart(job: JobName, from_: FileName | None = None) -> Job:
    """Submit the next attempt of a job that has ended, as `jobmon restart --yes` does; return its record.

    Args:
        job: any attempt; the newest one is continued.
        from_: the checkpoint to resume from; by default the newest complete one.

    Raises:
        UnknownJob: jobmon has no record of it.
        JobmonError: it may still run, the checkpoint is not complete, or the attempt was not submitted.
    """
    return watched("restart", *options(yes=True, **{"from": absolute(from_)}), "--", str(job))


def attempts(job: JobName) -> tuple[Attempt, ...]:
    """Return the attempts of the lineage of a job, in their order, as `jobmon restarts JOB` lists them.

    Raises:
        UnknownJob, StateUnreadable: jobmon has no record of it, or cannot read it.
        JobmonError: it is part of no lineage.
    """
    found = lineage_of(open_context(), str(job)).lineage.attempts
    return tuple(
        record_from(
            Attempt,
            each,
            job_id=each.job,
            cause=each.decision.cause if each.decision else "",
            verdict=each.decision.verdict.value if each.decision else "",
            why=each.decision.why if each.decision else "",
            resumed_from=each.resume.path if each.resume else "",
            start_step=start_step(each),
            lost_steps=lost_steps(each, following),
        )
        for each, following in with_following(found)
    )
