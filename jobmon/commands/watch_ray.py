"""The part of ``jobmon watch`` that is about jobs of a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import open_context, stdout_console
from jobmon.commands.job_options import job_settings
from jobmon.errors import UsageError, report, say
from jobmon.views.details import detail_lines
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.remote.ray_cluster import ray_service
from jobmon_core.app.remote.watch import watch_remote
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError
from jobmon_core.lifecycle.health import job_status
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    import argparse

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef

ADDRESS_HELP = "the dashboard of the Ray cluster (default: RAY_API_SERVER_ADDRESS, RAY_ADDRESS, else http://127.0.0.1:8265)"


def add_ray_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that only jobs of Ray have."""
    group = parser.add_argument_group("with --backend ray")
    group.add_argument("--address", metavar="URL", help=ADDRESS_HELP)
    group.add_argument(
        "--all",
        action="store_true",
        help="all jobs of the Ray cluster that have not ended and are not watched",
    )


def refuse_ray_options(options: argparse.Namespace) -> None:
    """Raise UsageError if an option is for Ray only."""
    if options.address or options.all:
        raise UsageError("--address and --all are for jobs of Ray; add --backend ray")


def watch_ray(options: argparse.Namespace) -> tuple[list[JobRef], int]:
    """Watch each job, even after an error with another one; return the new ones, and the exit code."""
    if options.all == bool(options.job):
        raise UsageError("required: either the ids of jobs, or --all, with --backend ray")
    if options.output or options.error or options.log:
        raise UsageError(
            "--output, --error and --log are not for jobs of Ray: jobmon reads the driver's log there"
        )
    ctx = open_context()
    service = ray_service(ctx, options.address or "")
    names = options.job
    if options.all:
        names = ctx.remote_jobs(RAY, service).names()
    if not names:
        say(f"no job of the Ray cluster {service} is pending or running")
    watched, exit_code = [], 0
    starter, settings = MonitorStarter(ctx), job_settings(options)
    for name in names:
        try:
            job = watch_remote(ctx, starter, RAY, service, name, settings=settings, again=options.again)
        except AlreadyReported as reported:
            show_reported(ctx, reported)
        except JobmonError as error:
            report(error)
            if not (options.all and isinstance(error, AlreadyWatched)):
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching {name} of the Ray cluster {service} as job {job.ref}; see `jobmon show {job.ref}`")
            watched.append(job.ref)
            ANSWERS.append(Watched(str(job.ref), job.id))
    return watched, exit_code


def show_reported(ctx: Context, reported: AlreadyReported, task_key: str = "") -> None:
    """Print what is known of a job that has ended and was reported, or of one task of it."""
    report(reported)
    status = job_status(ctx, ctx.store.load(reported.state_id))
    print(*detail_lines(status, task_key, ctx.clock.now(), stdout_console()), sep="\n")
