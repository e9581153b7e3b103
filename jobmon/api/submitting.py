"""Submit jobs, again too, and watch jobs and processes that jobmon did not start."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from jobmon.api.records import Attempt, Job, absolute, file_names, options, record_from, tell
from jobmon.api.watched import record_of, status
from jobmon_core.app.from_python import call, open_context
from jobmon_core.app.outcome import Watched
from jobmon_core.app.restarts.lineages import lineage_of
from jobmon_core.domain.backends import BY_TEXT, is_ray
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError, StateUnreadable
from jobmon_core.domain.job.restart.summary import lost_steps, start_step, with_following
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.api.records import FileName, JobName, Restart


def submit(
    *arguments: FileName,
    backend: str | None = None,
    group: str = "",
    job_config: FileName | None = None,
    agent: bool = True,
    sentinel: bool = False,
    restart: Restart | None = None,
    address: str = "",
    ray: Mapping[str, object] | None = None,
) -> Job:
    """Submit a job exactly as sbatch does, and watch it; return its record.

    With ``backend="ray"``, submit a command to a Ray cluster, as `ray job submit` does. An interrupt, e.g.
    Ctrl-C, ends only the waiting for the answer: the submission goes on, and `jobs` shows the job.

    Args:
        arguments: those of sbatch. For Ray: the words of the command; a single one is a line for the shell.
        backend: "slurm", "local" or "ray"; by default the configured one.
        group: the name of a group to add the job to; it is made if there is none.
        job_config: a YAML file about the job; by default ``jobmon.yaml`` beside the script.
        agent: whether jobmon may measure the job's GPUs, memory and processes beside it.
        restart: when and how jobmon submits the job again after a failure; else as ``job_config`` says.
        sentinel: whether to submit a tiny job as well, which reports the end if the monitor is gone.
        address: the dashboard of the Ray cluster; by default as Ray's variables say.
        ray: what else Ray's job API takes, e.g. ``{"entrypoint_num_gpus": 1, "runtime_env": {...}}``.

    Raises:
        SchedulerRejected: the scheduler refused the job; the text is the scheduler's.
        SchedulerUnavailable: it did not answer. The text says if it may have accepted the job all the same.
        SchedulerMissing: this host has no such scheduler.
        ConfigInvalid: the configuration has faults; nothing was submitted.
        JobmonError: an argument does not suit the backend, or the command for Ray is missing.
    """
    command = [os.fspath(each) for each in arguments]
    own = options(backend=backend, group=group, job_config=absolute(job_config))
    if restart:
        own += _restart_options(restart)
    if _is_for_ray(backend):
        if sentinel:
            raise JobmonError("sentinel is not for jobs of Ray")
        if not command:
            raise JobmonError('submit needs the command to run on the Ray cluster, e.g. "python", "train.py"')
        own += options(address=address, job_json=_json(ray) if ray else "")
        return watched("submit", *own, "--", *command)
    if ray or address:
        raise JobmonError('address and ray are for jobs of Ray; add backend="ray"')
    return watched("submit", *own, *options(sentinel=sentinel, no_agent=not agent), *command)


def _restart_options(restart: Restart) -> list[str]:
    section = {name: value for name, value in asdict(restart).items() if value not in (None, "", ())}
    folder = section.pop("checkpoint_dir", None)
    return options(restart=json.dumps(section), checkpoint_dir=absolute(folder))


def _is_for_ray(backend: str | None) -> bool:
    return is_ray(backend or open_context().configuration().backend)


def _json(ray: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(ray))
    except (TypeError, ValueError) as error:
        raise JobmonError(f"ray has a value that is not JSON: {error}") from error


def watch(
    job: JobName | None = None,
    *,
    pid: int | Sequence[int] | None = None,
    name: str = "",
    log: FileName | Sequence[FileName] | None = None,
    stdout: FileName | None = None,
    stderr: FileName | None = None,
    backend: str | None = None,
    address: str = "",
    host: str = "",
    job_config: FileName | None = None,
    again: bool = False,
) -> Job:
    """Watch a job that was not submitted through jobmon, or processes of this host; return its record.

    ``watch(pid=os.getpid())`` watches the calling program itself. A job that is watched already, or that has
    ended and was reported, only gives its record, unless an argument would then be ignored.

    Args:
        job: the id of the job, array task or het job component; or one word as `jobmon watch` takes it, e.g.
            ``ray:ID``, ``HOST:tmux:train``.
        pid: processes to watch instead of a job; together they are one job.
        name: of processes: a name for them.
        log: of processes: one log, or one for each; by default the files that their output goes to.
        stdout: of a job of Slurm or of the local backend: its log, if the scheduler does not know it.
        stderr: likewise.
        backend: the job's scheduler; by default the configured one. With "ray", the job is a submission id.
        address: the dashboard of the Ray cluster; by default as Ray's variables say.
        host: a host that ssh reaches; the job is what runs there, e.g. ``tmux:train``.
        job_config: a YAML file about the job.
        again: whether to analyse and report a job again that was already reported.

    Raises:
        UnknownJob: neither the scheduler nor its accounting knows the job, or no such process runs.
        AlreadyWatched: an argument would be ignored; it is a job on another host or a process; or its monitor
            is dead (`jobmon recover` restarts it).
        AlreadyReported: it ended and was reported, and an argument would be ignored without ``again``.
        SchedulerUnavailable: the scheduler does not answer.
        JobmonError: an argument does not suit what is to be watched.
    """
    if (job is None) == (pid is None):
        raise JobmonError("watch takes either a job, e.g. watch(8123), or processes, e.g. watch(pid=4711)")
    about = options(again=again, name=name, host=host, backend=backend, address=address)
    about += options(output=absolute(stdout), error=absolute(stderr), job_config=absolute(job_config))
    if log:
        about += ["--log", *map(absolute, file_names(log))]
    if pid is not None:
        pids = (pid,) if isinstance(pid, int) else pid
        return watched("watch", *about, "--pid", *map(str, pids))
    word = str(job)
    words = [word]
    if host:
        words = _split(word)
    command = ["watch", *about, "--", *words]
    if stdout or stderr or job_config:
        return watched(*command)
    return _watched_or_known(command, word, is_on_host=bool(host) or ":" in _without_service(word))


def _watched_or_known(command: Sequence[str], word: str, *, is_on_host: bool) -> Job:
    """Watch a job; return its record, also if it ended and was reported, or is watched already."""
    try:
        return watched(*command)
    except AlreadyReported as reported:
        ctx = open_context()
        return record_of(ctx, ctx.store.load(reported.state_id))
    except AlreadyWatched:
        if is_on_host:
            raise
        found = status(_without_service(word))
        # DONE: the job ended after the command had found its monitor
        if found.monitor in (Health.ALIVE, Health.REMOTE, Health.DONE) or found.backend in BY_TEXT:
            return found
        raise


def _without_service(word: str) -> str:
    """Return the name of a job without the word for its service."""
    service, colon, name = word.partition(":")
    return name if colon and service in BY_TEXT else word


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise JobmonError(f"{text!r}: {error}") from error


def watched(*command: str) -> Job:
    """Run a command that watches a job, log what it prints on stderr, and return the record of the job."""
    found = call(Watched, command, tell)
    ctx = open_context()
    try:
        return record_of(ctx, ctx.store.load(found.state_id))
    except StateUnreadable:  # it is submitted all the same: an error would make the caller submit again
        return Job(job_id=found.job, monitor=Health.DEAD)


def restart(job: JobName, from_: FileName | None = None) -> Job:
    """Submit the next attempt of a job that has ended, as `jobmon restart --yes` does; return its record.

    ``job`` is any attempt; the newest one is continued, from the newest complete checkpoint unless ``from_``
    names one.

    Raises:
        UnknownJob: jobmon has no record of it.
        JobmonError: it may still run, the checkpoint is not complete, or the attempt was not submitted.
    """
    return watched("restart", *options(yes=True, **{"from": absolute(from_)}), "--", str(job))


def attempts(job: JobName) -> tuple[Attempt, ...]:
    """Return the attempts of the lineage of a job, as `jobmon restarts JOB` lists them.

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
