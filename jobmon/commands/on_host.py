"""``jobmon watch --host`` and ``jobmon run --host``: jobs on hosts that are reached by ssh."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.commands.common import Options, open_context
from jobmon.commands.job_options import job_settings
from jobmon.commands.restart_options import given_values, restart_change
from jobmon.errors import UsageError, say
from jobmon_core.app.health.collect import gpus_in_pod
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.remote.kubernetes import kubernetes_service
from jobmon_core.app.remote.watch import run_on_host, watch_remote
from jobmon_core.domain.job.job_settings import JobSettings, RunOptions
from jobmon_core.domain.node.hosts.model import EXPECTED, HostTarget
from jobmon_core.domain.node.hosts.settings import POD
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.tracking.model import WatchedJob

BACKEND = "ssh"
_MAX_COMMAND = 200  # characters of a command line that are shown
_NOTHING = JobSettings()
# the settings about files, processes or GPUs of this machine
_LOCAL = (
    *("output_dir", "log_dir", "output_pattern", "log_pattern"),
    *("results", "expected_outputs", "min_growth_bytes", "gpu_ids", "stacks_on_stall"),
    "on_notice",
)
_OF_COUNTED_FILES = "expected_outputs"  # the one that is kept if the files of a folder there are counted
# options of `jobmon watch` that do not suit a job on another host
_NOT_WITH_HOST = (
    *("pid", "pid_file", "process", "output", "error", "log", "backend"),
    *("gpu_ids", "address", "all", "context", "namespace", "selector"),
)


def watch_on_host(options: Options) -> WatchedJob:
    """Watch the job that the words of the command line describe; return it.

    Raises:
        UsageError: the words are wrong, or an option does not suit a job on another host.
    """
    _refuse(options, _NOT_WITH_HOST)
    if not options.job:
        raise UsageError(f"--host needs what to watch there: {EXPECTED}")
    try:
        target = HostTarget.parse(options.job)
    except ValueError as error:
        raise UsageError(str(error)) from error
    settings = job_settings(options)
    if settings and settings.done and settings.done.marker and not target.marker:
        target = replace(target, marker=settings.done.marker)
    ctx = open_context()
    job = watch_remote(
        ctx,
        MonitorStarter(ctx),
        BACKEND,
        options.host,
        shlex.join(target.words),
        settings=_settings_there(settings, has_files=bool(target.files)),
        again=options.again,
    )
    ANSWERS.append(Watched(str(job.ref), job.id))
    if job.command:
        say(one_line(f"{options.host}: {job.command}")[:_MAX_COMMAND])
    if not job.logs.stdout:
        say("no log is known; log:FILE names one")
    if not target.marker:
        by_tmux = "only tmux can show its exit status, with `set-option remain-on-exit on`"
        what = "nothing will show its exit status"
        if target.tmux:
            what = by_tmux
        say(f"{what}; marker:FILE names a file that shows success")
    say(f"watching it as job {job.ref} ({job.name}); see `jobmon show {job.ref}`")
    return job


def watch_in_pod(options: Options) -> WatchedJob:
    """Watch the process in a pod that the words describe, and say whether its GPUs are in use; return it."""
    if options.host:
        raise UsageError("--pod and --host name two places; give one")
    ctx = open_context()
    service = kubernetes_service(ctx, options.context or "", options.namespace or "")
    options.host, options.context, options.namespace = f"{POD}{service}/{options.pod}", None, None
    job = watch_on_host(options)
    say(gpus_in_pod(service, options.pod))
    return job


def run_there(options: Options, command: Sequence[str]) -> int:
    """Start a command on a host and watch it; the exit code is not that of the command."""
    from jobmon_core.app.restarts.first_attempt import first_attempt
    from jobmon_core.app.runs.submit_request import SubmitRequest

    _refuse(options, ("output", "error", "gpu_ids"))
    ctx = open_context()
    folders = RunOptions(workdir=options.chdir or "", output_dir=options.files or "")
    settings = _settings_there(job_settings(options), has_files=bool(folders.output_dir))
    restart = restart_change(options.restart, given_values(options))
    request = SubmitRequest(BACKEND, tuple(command), restart=restart, run=folders)
    attempt = first_attempt(ctx, request, settings, say)
    job, problem = run_on_host(
        ctx, MonitorStarter(ctx), options.host, command, folders, settings=settings, attempt=attempt
    )
    if problem:
        say(f"it is not known whether the command was started: {problem}")
        say(
            f"do not start it again: job {job.ref} is watched, and `jobmon show {job.ref}` says what became "
            f"of it once {options.host} answers"
        )
        return 1
    say(f"started on {options.host} as job {job.ref} ({job.name}); `jobmon logs -f {job.ref}` follows it")
    return 0


def _refuse(options: Options, names: Sequence[str]) -> None:
    for name in names:
        if getattr(options, name, None):
            raise UsageError(f"--{name.replace('_', '-')} is not for jobs on another host (--host)")


def _settings_there(settings: JobSettings | None, *, has_files: bool) -> JobSettings | None:
    """Return the settings without those about this machine; ``has_files``: a folder there is looked at."""
    if settings is None:
        return None
    local = [name for name in _LOCAL if not (has_files and name == _OF_COUNTED_FILES)]
    ignored = [name for name in local if getattr(settings, name) != getattr(_NOTHING, name)]
    if ignored:
        say(f"ignored for a job on another host: {', '.join(ignored)}")
    kept = replace(settings, **{name: getattr(_NOTHING, name) for name in ignored})
    if kept.done:
        kept = replace(kept, done=replace(kept.done, marker="", artifact="") if kept.done.log else None)
    if kept == _NOTHING:
        return None
    return kept
