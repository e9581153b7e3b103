"""Submissions to services that name their jobs by text: once, recorded first, watched."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.app.groups.jobs import join_group
from jobmon_core.app.remote.watch import new_job
from jobmon_core.app.restarts.first_attempt import refuse_unstoppable
from jobmon_core.domain.errors import Invalid, SchedulerRejected, StorageFailed
from jobmon_core.domain.job.job_settings import AttemptPlace, RestartMode
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import checked_name
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.base import Fate
from jobmon_core.store.lineages import RecordedSubmission

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.restart.model import Decision
    from jobmon_core.scheduler.base import ServiceSubmission

ID_BYTES = 8  # of a name of a job that jobmon chooses

Request = dict[str, Any]  # what the service takes: Ray's description of a job, a manifest of Kubernetes


class SubmittingTo(NamedTuple):
    """How jobmon submits to a backend.

    Attributes:
        backend: its name.
        submission: made of the resources of the backend, the service, the request, and the number of the job
            if that is recorded already, else 0.
        request: made of what the user submits; the place of an attempt, None for a job that is none; words
            for its command; and why the attempt before it ended.
        observed: the same for the first attempt of a lineage that jobmon only observes.
    """

    backend: str
    submission: Callable[..., ServiceSubmission]
    request: Callable[..., Request]
    observed: Callable[[Request, AttemptPlace], Request]


def submit_first(
    ctx: Context,
    to: SubmittingTo,
    service: str,
    request: Request,
    tell: Callable[[str], None],
    *,
    settings: JobSettings | None = None,
    group: str = "",
) -> tuple[WatchedJob, str]:
    """Submit a job, as the first attempt of a lineage if its settings say so, and watch it.

    Return the job, and why it is not known whether the service has it. The job is recorded first: if this
    process is killed meanwhile, `jobmon recover` watches what it submitted. Raises SchedulerRejected.
    """
    if group:
        checked_name(group)
    wanted, place, make = settings.restart if settings else None, None, to.request
    if settings and wanted and wanted.mode is not RestartMode.OFF:
        if not settings.checkpoint_dir:
            raise Invalid("--restart", ["name where the job saves its checkpoints: --checkpoint-dir DIR"])
        refuse_unstoppable(to.backend, wanted)
        place = AttemptPlace(secrets.token_hex(ID_BYTES))
        settings = replace(settings, attempt=place)
        make = to.request if wanted.mode is RestartMode.ON else to.observed

    def on_saved(job: WatchedJob) -> None:
        _begin_lineage(ctx, job, request)
        if group:
            join_group(ctx, group, job, job.name, tell)

    submission = to.submission(ctx.backend_resources(to.backend), service, make(request, place))
    starter = MonitorStarter(ctx, at_most=1 if group else 0)
    job = new_job(ctx, to.backend, submission.record(), settings)
    ctx.store.save(job)
    return _submit_and_watch(ctx, starter, submission, job, on_saved)


def next_request(
    ctx: Context, to: SubmittingTo, lineage: Lineage, number: int, decision: Decision
) -> Request:
    """Return what submits the further attempt with this number: what the first did, and its place."""
    script = ctx.lineages.submission(lineage.id).read_to_change().script
    if not script:
        raise StorageFailed(f"the submission of lineage {lineage.id} is not recorded any more")
    place = lineage.place(number, decision.checkpoint)
    words = resume_words(lineage.settings.resume_arg, place.resume_from)
    return to.request(json.loads(script), place, words, decision.cause or decision.rule)


def submit_further(
    ctx: Context,
    to: SubmittingTo,
    lineage: Lineage,
    number: int,
    decision: Decision,
    *,
    settings: JobSettings,
    record: Callable[[str, str], None],
) -> None:
    """Submit the further attempt with this number; ``record`` gets its state id and its name.

    If a submission of it was cut off, the same one is made again. Raises SchedulerRejected.
    """
    jobs = (job for job in ctx.store.all() if isinstance(job, WatchedJob))
    job = next((job for job in jobs if job.attempt == settings.attempt), None)
    request, service = next_request(ctx, to, lineage, number, decision), lineage.attempts[0].cluster
    submission = to.submission(ctx.backend_resources(to.backend), service, request, job.job_id if job else 0)
    if job is None:
        job = new_job(ctx, to.backend, submission.record(), settings)
        ctx.store.save(job)
    _submit_and_watch(ctx, MonitorStarter(ctx), submission, job, lambda job: record(job.id, job.name))


def _submit_and_watch(
    ctx: Context,
    starter: MonitorStarter,
    submission: ServiceSubmission,
    job: WatchedJob,
    on_saved: Callable[[WatchedJob], None],
) -> tuple[WatchedJob, str]:
    result = submission.submit()
    if result.fate is Fate.REFUSED:
        ctx.store.path(job.id).unlink(missing_ok=True)
        submission.discard()
        raise SchedulerRejected(result.why)
    on_saved(job)
    starter.watch(job.id)
    return job, "" if result.fate is Fate.ACCEPTED else result.why


def _begin_lineage(ctx: Context, job: WatchedJob, request: Request) -> None:
    """Record the first attempt of a lineage, if the job is one; later ones submit ``request`` again."""
    place, wanted = job.attempt, job.own_settings.restart
    if place and wanted:
        attempt = Attempt(0, job.id, job.name, job.backend, job.cluster, job.registered_s)
        recorded = RecordedSubmission(folder=os.getcwd(), script=json.dumps(request))  # noqa: PTH109 - a text
        lineage = Lineage(place.lineage, job.registered_s, wanted, (attempt,))
        ctx.lineages.begin(lineage, recorded if wanted.mode is RestartMode.ON else None)
