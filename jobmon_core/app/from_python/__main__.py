"""The process that runs a use case for a caller in Python, with one thread and signal handlers of its own.

It reads a request from stdin and writes the reply as the last line of stdout; what sbatch prints goes to
stderr.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from jobmon_core.app.from_python.request import (
    REQUESTS,
    Diagnose,
    Health,
    Notify,
    Recover,
    Reply,
    Request,
    Submit,
    SubmitToRay,
    Watch,
    WatchProcesses,
    WatchRemote,
)
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.waiting.wait import restart_monitors
from jobmon_core.context import Context
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, Invalid, JobmonError, SchedulerRejected
from jobmon_core.domain.groups.model import checked_name
from jobmon_core.system.json_codec import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job_settings import JobSettings
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.domain.tracking.new_job import NewJob

_STDIN, _STDOUT, _STDERR = range(3)


def main() -> None:
    """Do what the request on stdin says."""
    data = json.loads(sys.stdin.buffer.read())
    request = from_json(REQUESTS[data["call"]], data["request"])
    reply_to = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)  # sbatch's own output must not mix with the reply
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, _STDIN)  # a local job would inherit the pipe of the request
    reply = json.dumps(to_json(answer(request)))
    with os.fdopen(reply_to, "w", encoding="ascii") as stream:
        stream.write(f"{reply}\n")


def answer(request: Request) -> Reply:
    """Do what the request says; return the reply, or the error as one."""
    ctx = Context.open(os.environ)
    messages: list[str] = []
    try:
        reply = _done(ctx, request, messages.append)
    except JobmonError as error:
        reply = _error(error)
    return replace(reply, messages=tuple(messages))


def _error(error: JobmonError) -> Reply:
    kind = type(error).__name__
    if isinstance(error, Invalid):
        return Reply(kind, str(error), error.source, error.faults)
    if isinstance(error, AlreadyReported):
        return Reply(kind, str(error), state_id=error.state_id)
    return Reply(kind, str(error))


def _done(ctx: Context, request: Request, tell: Callable[[str], None]) -> Reply:
    reply = Reply()
    match request:
        case Submit():
            reply = _submit(ctx, request, tell)
        case SubmitToRay():
            reply = _submit_to_ray(ctx, request, tell)
        case Watch():
            reply = _watch(ctx, request, tell)
        case WatchRemote():
            reply = _watch_remote(ctx, request, tell)
        case WatchProcesses():
            reply = _watch_processes(ctx, request, tell)
        case Notify():
            reply = _notify(ctx, request)
        case Recover():
            restart_monitors(ctx, tell)
        case Diagnose():
            reply = _diagnose(ctx, request)
        case Health():
            reply = _health(ctx, request)
        case _:
            assert_never(request)
    return reply


def _submit(ctx: Context, request: Submit, tell: Callable[[str], None]) -> Reply:
    from jobmon_core.app.add_sentinel import SentinelSubmitter
    from jobmon_core.app.submit import SubmitJob
    from jobmon_core.lifecycle.start import MonitorStarter

    saved: list[NewJob] = []
    starter = MonitorStarter(ctx, at_most=1 if request.group else 0)  # one monitor for the whole group

    def on_saved(job: NewJob) -> None:
        saved.append(job)
        if request.group:
            from jobmon_core.app.groups.edit import join_group, submission_name

            join_group(ctx, request.group, job, submission_name(request.arguments), tell)

    if request.group:
        checked_name(request.group)
    submit_job = SubmitJob(
        ctx,
        starter,
        tell,
        SentinelSubmitter(ctx, tell).submit if request.sentinel else None,
        request.job_config,
        no_agent=not request.agent,
        on_saved=on_saved,
    )
    try:
        submission = submit_job.submission(request.backend or None, request.arguments)
    finally:
        starter.discard()
    if submission.job is None:
        raise SchedulerRejected(submission.note)
    return Reply(job=str(submission.job.ref), state_id=saved[0].id if saved else "")


def _submit_to_ray(ctx: Context, request: SubmitToRay, tell: Callable[[str], None]) -> Reply:
    from jobmon_core.app.remote.ray_cluster import ray_service
    from jobmon_core.app.remote.submit_ray import submit_to_cluster
    from jobmon_core.lifecycle.start import MonitorStarter

    service, settings = ray_service(ctx, request.address), _settings(request.job_config, tell)
    description = json.loads(request.description)
    starter = MonitorStarter(ctx, at_most=1 if request.group else 0)
    if request.group:
        checked_name(request.group)

    def on_saved(job: WatchedJob) -> None:
        if request.group:
            from jobmon_core.app.groups.edit import join_group

            join_group(ctx, request.group, job, job.name, tell)

    job, problem = submit_to_cluster(ctx, starter, service, description, settings=settings, on_saved=on_saved)
    if problem:
        tell(f"it is not known whether the Ray cluster {service} accepted the job: {problem}")
    return Reply(job=str(job.ref), state_id=job.id)


def _watch(ctx: Context, request: Watch, tell: Callable[[str], None]) -> Reply:
    from jobmon_core.app.watch import watch
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.lifecycle.start import MonitorStarter

    try:
        ref = JobRef.parse(request.job)
    except ValueError as error:
        raise JobmonError(str(error)) from error
    logs = LogPaths(request.stdout or request.stderr, request.stderr or request.stdout)
    watch(
        ctx,
        MonitorStarter(ctx),
        ref,
        request.backend or ctx.configuration().backend,
        logs,
        settings=_settings(request.job_config, tell),
        again=request.again,
    )
    job, _ = find_job(ctx, request.job)
    return Reply(job=str(job.ref), state_id=job.id)


def _watch_remote(ctx: Context, request: WatchRemote, tell: Callable[[str], None]) -> Reply:
    from jobmon_core.app.remote.ray_cluster import ray_service
    from jobmon_core.app.remote.watch import watch_remote
    from jobmon_core.lifecycle.start import MonitorStarter

    name, backend, service = request.name, "ssh", request.host
    if service:
        name = _target_on_host(name)
    else:
        backend, service = "ray", ray_service(ctx, request.address)
    settings, starter = _settings(request.job_config, tell), MonitorStarter(ctx)
    try:
        job = watch_remote(ctx, starter, backend, service, name, settings=settings, again=request.again)
    except AlreadyWatched:
        if settings or request.host:
            raise
        job, _ = find_job(ctx, name)
    return Reply(job=str(job.ref), state_id=job.id)


def _target_on_host(words: str) -> str:
    """Return what to watch on a host, e.g. ``pid:4711 log:train.log``, as the backend takes it."""
    import shlex

    from jobmon_core.domain.hosts.target import Target

    try:
        return shlex.join(Target.parse(shlex.split(words)).words)
    except ValueError as error:
        raise JobmonError(str(error)) from error


def _watch_processes(ctx: Context, request: WatchProcesses, tell: Callable[[str], None]) -> Reply:
    from jobmon_core.app.processes.watch import processes_with_pids, watch_processes
    from jobmon_core.domain.job_settings import JobSettings
    from jobmon_core.lifecycle.start import MonitorStarter

    settings = _settings(request.job_config, tell)
    if request.name:
        settings = replace(settings or JobSettings(), name=request.name)
    found = processes_with_pids(request.pids)
    for pid in found.missing:
        tell(f"process {pid} is left out: it does not run on this host")
    logs = [Path(each) for each in request.logs]
    job = watch_processes(ctx, MonitorStarter(ctx), found.processes, logs, settings)
    return Reply(job=str(job.ref), state_id=job.id)


def _settings(job_config: str, tell: Callable[[str], None]) -> JobSettings | None:
    from jobmon_core.app.jobs.job_config import read_settings

    return read_settings(Path(job_config), tell) if job_config else None


def _notify(ctx: Context, request: Notify) -> Reply:
    from jobmon_core.app.messages.notify import notify
    from jobmon_core.domain.channels import Level

    sent = notify(ctx, Level(request.level), request.title, request.text, request.wait_s)
    return Reply(stored=sent.stored, was_hidden=sent.was_hidden)


def _health(ctx: Context, request: Health) -> Reply:
    from jobmon_core.app.health.collect import collect_health

    return Reply(health=collect_health(ctx, request.jobs).reports)


def _diagnose(ctx: Context, request: Diagnose) -> Reply:
    import io

    from jobmon_core.app.diagnose import DiagnoseCommand
    from jobmon_core.app.from_python.explanation import explanation_of
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.user_override import UserOverride

    command, override = DiagnoseCommand(ctx, ctx.scheduler), UserOverride.parse(None, None)
    if request.job:
        return Reply(explanation=explanation_of(command.of_job(JobRef.parse(request.job), override)))
    return Reply(explanation=explanation_of(command.of_files(request.files, override, io.BytesIO())))


if __name__ == "__main__":
    main()
