"""The part of ``jobmon watch`` that is about services that name their jobs by text: Ray and Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import Options, Parser, add_flags, open_context
from jobmon.commands.job_options import job_settings
from jobmon.errors import UsageError, report, say
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.remote.kubernetes import kubernetes_service, names_of_selector
from jobmon_core.app.remote.ray_cluster import ray_service
from jobmon_core.app.remote.watch import watch_remote
from jobmon_core.domain.backends import is_ray
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef


ADDRESS_HELP = "the dashboard of the Ray cluster (default: RAY_API_SERVER_ADDRESS, RAY_ADDRESS, else http://127.0.0.1:8265)"
CONTEXT_HELP = "the context of kubectl (default: as configured, else the current one)"
NAMESPACE_HELP = "the namespace (default: as configured, else that of the context)"


def add_service_options(parser: Parser) -> None:
    """Add the options of Ray and of Kubernetes."""
    ray = parser.add_argument_group("with --backend ray")
    ray.add_argument("--address", metavar="URL", help=ADDRESS_HELP)
    add_flags(
        ray, all="all jobs of the Ray cluster, or of the namespace, that have not ended and are not watched"
    )
    kubernetes = parser.add_argument_group("with --backend kubernetes")
    kubernetes.add_argument("--context", metavar="NAME", help=CONTEXT_HELP)
    kubernetes.add_argument("--namespace", metavar="NAME", help=NAMESPACE_HELP)
    kubernetes.add_argument(
        "--selector", metavar="LABELS", help="the jobs of the pods with these labels, e.g. app=train"
    )


def refuse_service_options(options: Options) -> None:
    """Raise UsageError for an option that suits no other backend."""
    if options.all:
        raise UsageError("--all is for jobs of Ray or Kubernetes; add --backend ray or --backend kubernetes")
    _refuse(options, ("address",), "Ray; add --backend ray")
    if options.context or options.namespace or options.selector:
        raise UsageError(
            "--context, --namespace and --selector are for jobs on Kubernetes; add --backend kubernetes"
        )


def watch_service(
    options: Options, backend: str, show_reported: Callable[[Context, AlreadyReported], None]
) -> tuple[list[JobRef], int]:
    """Watch each job, even after an error with another one; return those watched, and the exit code."""
    if options.output or options.error or options.log:
        raise UsageError(
            "--output, --error and --log are not for jobs of Ray or Kubernetes: jobmon reads their logs there"
        )
    ctx = open_context()
    if is_ray(backend):
        _refuse(options, ("context", "namespace", "selector"), "Kubernetes; add --backend kubernetes")
        service, what = ray_service(ctx, options.address or ""), "the Ray cluster"
    else:
        _refuse(options, ("address",), "Ray; add --backend ray")
        service, what = kubernetes_service(ctx, options.context or "", options.namespace or ""), "Kubernetes"
    if (len(options.job) > 0) + options.all + bool(options.selector) != 1:
        also = "" if is_ray(backend) else ", or --selector"
        raise UsageError(f"required: either the names of jobs, or --all{also}, with --backend {backend}")
    names = _names(ctx, options, backend, service)
    if not names:
        if options.selector:
            say(f"no pod of {what} ({service}) has the labels {options.selector}")
        else:
            say(f"no job of {what} ({service}) is pending or running")
    return _watch_each(ctx, options, (backend, service, what), names, show_reported)


def _names(ctx: Context, options: Options, backend: str, service: str) -> Sequence[str]:
    if options.all:
        return ctx.remote_jobs(backend, service).names()
    if options.selector:
        return names_of_selector(ctx, service, options.selector)
    return list(options.job)


def _watch_each(
    ctx: Context,
    options: Options,
    where: tuple[str, str, str],
    names: Sequence[str],
    show_reported: Callable[[Context, AlreadyReported], None],
) -> tuple[list[JobRef], int]:
    watched: list[JobRef] = []
    exit_code = 0
    backend, service, what = where
    starter, settings = MonitorStarter(ctx), job_settings(options)
    for name in names:
        try:
            job = watch_remote(ctx, starter, backend, service, name, settings=settings, again=options.again)
        except AlreadyReported as reported:
            show_reported(ctx, reported)
        except JobmonError as error:
            report(error)
            if options.job or not isinstance(error, AlreadyWatched):
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching {job.name} of {what} {service} as job {job.ref}; see `jobmon show {job.ref}`")
            watched.append(job.ref)
            ANSWERS.append(Watched(str(job.ref), job.id))
    return watched, exit_code


def _refuse(options: Options, names: Sequence[str], whose: str) -> None:
    for name in names:
        if getattr(options, name):
            raise UsageError(f"--{name} is for jobs of {whose}")
