"""What jobmon knows that bears on a submission: earlier jobs of the same script, and its own set-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.autostart import Autostart
from jobmon_core.domain.before.checks.facts import PastRun, Setup
from jobmon_core.domain.channels import Route
from jobmon_core.domain.errors import ConfigInvalid, JobmonError
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.before.batch_script.request import Request
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.system.runner import Runner

_MAX_RUNS = 20


def same_jobs(ctx: Context, request: Request, script_path: str) -> list[WatchedJob]:
    """Return the watched jobs of the same script, else of the same name, newest first."""
    if not (ctx.home.root / "state").is_dir():
        return []
    jobs = [job for job in ctx.store.all() if not isinstance(job, Unreadable)]
    of_script = [job for job in jobs if script_path and job.command == script_path]
    found = of_script or [job for job in jobs if job.name == request.name]
    return sorted(found, key=lambda job: -job.registered_s)


def past_runs(ctx: Context, jobs: list[WatchedJob]) -> Iterator[PastRun]:
    """Yield up to 20 tasks that started and ended, those of the newest job first."""
    number = 0
    for job in jobs:
        interval_s, had_progress = _progress_of(ctx, job)
        for task in job.tasks.values():
            if task.end is None or task.end.started_s is None or number >= _MAX_RUNS:
                continue
            number += 1
            yield _past_run(job, task, interval_s, had_progress=had_progress)


def _past_run(job: WatchedJob, task: Task, interval_s: float | None, *, had_progress: bool) -> PastRun:
    end, diagnosis = task.end, task.diagnosis
    assert end is not None  # noqa: S101 - `past_runs` leaves out tasks without an end
    return PastRun(
        f"{job.job_id}_{task.key}" if job.is_array else str(job.job_id),
        end.ended_s or 0,
        end.raw_state or end.state.value,
        end.elapsed_s,
        end.limit_s,
        (diagnosis.label or "") if diagnosis else "",
        diagnosis.headline if diagnosis and diagnosis.cause else "",
        interval_s,
        had_progress,
    )


def _progress_of(ctx: Context, job: WatchedJob) -> tuple[float | None, bool]:
    """Return the longest interval between a task's checkpoints, and whether jobmon read any progress."""
    stored = ctx.progress_file(job.id).read()
    saved = [each.checkpoints for each in stored.artifacts.values() if each.checkpoints]
    intervals = [each.interval_s for each in saved if each.interval_s]
    return max(intervals, default=None), any(each.progress for each in stored.tasks.values())


def setup_of(ctx: Context, runner: Runner, command: tuple[str, ...]) -> Setup:
    """Return how jobmon is set up; ``command`` starts jobmon."""
    channels, fault = tuple[str, ...](), ""
    try:
        config = ctx.configuration()
        channels = tuple(route.value for route in Route if config.channels_for(route))
    except ConfigInvalid as error:
        fault = mask_webhooks(" ".join(str(error).split()))
    return Setup(channels, fault, *_autostart(ctx, runner, command))


def _autostart(ctx: Context, runner: Runner, command: tuple[str, ...]) -> tuple[str, bool]:
    """Return what restarts monitors after a reboot, e.g. ``cron``, and whether that can be installed."""
    try:
        autostart = Autostart.of(ctx, command, runner)
        statuses = autostart.statuses()
        working = [each.method.value for each in statuses if each.installed and not each.never_runs_because]
        if not working:
            autostart.recommended(statuses)
    except (JobmonError, OSError):  # what cannot be determined counts as not installed, and not possible
        return "", False
    return working[0] if working else "", True
