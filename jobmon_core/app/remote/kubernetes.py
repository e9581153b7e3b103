"""Jobs on Kubernetes, which their users name by context, namespace and name."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from jobmon_core.app.remote.submitting import ID_BYTES, Request, SubmittingTo
from jobmon_core.domain.backends import KUBERNETES
from jobmon_core.domain.job.restart.kubernetes_attempts import as_attempt, named
from jobmon_core.scheduler.kubernetes.client import KubeScheduler, find_service
from jobmon_core.scheduler.kubernetes.submission import KubeSubmission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import AttemptPlace


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


def _request(
    manifest: Request, place: AttemptPlace | None, words: Sequence[str] = (), reason: str = ""
) -> Request:
    if place is None:
        return named(manifest, secrets.token_hex(ID_BYTES))
    return as_attempt(named(manifest, place.lineage, place.number), place, words, reason)


TO_KUBERNETES = SubmittingTo(
    KUBERNETES,
    KubeSubmission,
    _request,
    # the retries stay the cluster's
    observed=lambda manifest, place: named(manifest, place.lineage, place.number),
)
