"""Jobs on Kubernetes, which their users name by context, namespace and name."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.groups.jobs import join_group
from jobmon_core.app.remote.submitting import begin_lineage, cut_off_attempt, submit_and_watch
from jobmon_core.domain.backends import KUBERNETES
from jobmon_core.domain.errors import Invalid, StorageFailed
from jobmon_core.domain.job.job_settings import AttemptPlace, RestartMode
from jobmon_core.domain.job.restart.kubernetes_attempts import as_attempt, named
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.many.groups.model import checked_name
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.kubernetes.client import KubeScheduler, find_service
from jobmon_core.scheduler.kubernetes.submission import KubeSubmission

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.restart.kubernetes_attempts import Manifest
    from jobmon_core.domain.job.restart.model import Decision, Lineage
    from jobmon_core.domain.job.tracking.model import WatchedJob

_ID_BYTES = 8


def kubernetes_service(ctx: Context, context: str, namespace: str) -> str:
    """Return the namespace with this name, by default the configured one, else that of kubectl's context.

    A configured namespace is one of the configured context: with another context, only the option counts.
    """
    configured = ctx.configuration().kubernetes
    if not context or context == configured.context:
        context, namespace = configured.context, namespace or configured.namespace
    return find_service(context, namespace)


def names_of_selector(ctx: Context, service: str, selector: str) -> tuple[str, ...]:
    """Return the names of the jobs whose pods a label selector chooses."""
    return KubeScheduler(ctx.backend_resources(KUBERNETES), service).names_of(selector)


def submit_to_kubernetes(
    ctx: Context,
    service: str,
    manifest: Manifest,
    tell: Callable[[str], None],
    *,
    settings: JobSettings | None = None,
    group: str = "",
) -> tuple[WatchedJob, str]:
    """Create a Job under a new name, as the first attempt of a lineage if its settings say so, and watch it.

    Return the job, and why it is not known whether the cluster has it. Raises SchedulerRejected.
    """
    if group:
        checked_name(group)
    wanted = settings.restart if settings else None
    named_manifest = named(manifest, secrets.token_hex(_ID_BYTES))
    if settings and wanted and wanted.mode is not RestartMode.OFF:
        if not settings.checkpoint_dir:
            raise Invalid("--restart", ["name where the job saves its checkpoints: --checkpoint-dir DIR"])
        place = AttemptPlace(secrets.token_hex(_ID_BYTES))
        settings = replace(settings, attempt=place)
        named_manifest = named(manifest, place.lineage, 0)
        if wanted.mode is RestartMode.ON:  # else the retries are the cluster's, as before
            named_manifest = as_attempt(named_manifest, place)

    def on_saved(job: WatchedJob) -> None:
        begin_lineage(ctx, job, manifest)
        if group:
            join_group(ctx, group, job, job.name, tell)

    submission = KubeSubmission(ctx.backend_resources(KUBERNETES), service, named_manifest)
    starter = MonitorStarter(ctx, at_most=1 if group else 0)
    return submit_and_watch(ctx, starter, KUBERNETES, submission, settings=settings, on_saved=on_saved)


def submit_next_to_kubernetes(
    ctx: Context,
    lineage: Lineage,
    number: int,
    decision: Decision,
    *,
    settings: JobSettings,
    record: Callable[[str, str], None],
) -> None:
    """Create the Job of the further attempt with this number; see `submit_next_to_ray`."""
    script = ctx.lineages.submission(lineage.id).read_to_change().script
    if not script:
        raise StorageFailed(f"the submission of lineage {lineage.id} is not recorded any more")
    place = lineage.place(number, decision.checkpoint)
    words = resume_words(lineage.settings.resume_arg, place.resume_from)
    manifest = as_attempt(
        named(json.loads(script), lineage.id, number), place, words, decision.cause or decision.rule
    )
    cut_off = cut_off_attempt(ctx, settings)
    submission = KubeSubmission(
        ctx.backend_resources(KUBERNETES),
        lineage.attempts[0].cluster,
        manifest,
        cut_off.job_id if cut_off else 0,
    )
    submit_and_watch(
        ctx,
        MonitorStarter(ctx),
        KUBERNETES,
        submission,
        settings=settings,
        on_saved=lambda job: record(job.id, job.name),
        cut_off=cut_off,
    )
