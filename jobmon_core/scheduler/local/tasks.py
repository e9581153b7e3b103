"""Run one task to its end and tell how that came."""

from __future__ import annotations

import errno
import math
import os
import signal
import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.exit_codes import LAUNCH_IO_FAILED
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.machine import Machine, Owner
from jobmon_core.scheduler.local.process_tree import ProcessTree
from jobmon_core.scheduler.local.records import TaskRecord
from jobmon_core.scheduler.local.streams import Streams
from jobmon_core.system import child_env
from jobmon_core.system.runner import start_detached

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.scheduler.local.process_tree import SignalWaiter
    from jobmon_core.scheduler.local.task_env import TaskEnv

_FALLBACK_FOLDER = "/tmp"  # noqa: S108 - where slurmstepd goes too
_TIME_LIMIT = "TimeLimit"


def run_task(
    task_env: TaskEnv,
    script: Path,
    machine: Machine,
    signals: SignalWaiter,
    note: Callable[[TaskRecord], None],
) -> TaskRecord:
    """Run a task; ``note`` is told when it runs. Nothing that its files or its script lack is raised."""
    spec = task_env.spec
    stdout, stderr = task_env.path(spec.stdout), task_env.path(spec.stderr)
    record = TaskRecord(
        own_id=task_env.own_id,
        state=JobState.RUNNING,
        index=task_env.index,
        start_s=int(time.time()),
        stdout=stdout,
        stderr=stderr,
    )
    try:
        streams = Streams.open(task_env.path(spec.stdin), stdout, stderr, append=spec.append)
    except OSError as error:
        why = f"JobLaunchFailure: could not open {error.filename}: {error.strerror}"
        return _not_launched(record, signal=LAUNCH_IO_FAILED, reason=why)
    with closing(streams):
        _enter(spec.workdir, streams)
        argv = [str(script), *spec.arguments]
        variables = task_env.environment(child_env.for_user(os.environ))
        try:
            process = start_detached(argv, variables, streams.descriptors)
        except OSError as error:
            fault = _exec_fault(script, error)
            streams.say(fault)
            return _not_launched(record, exit_code=error.errno, reason=f"NonZeroExitCode: {fault}")
        owner = Owner.of(process.pid, machine)
        record = replace(record, pid=process.pid, start_ticks=owner.start_ticks)
        note(record)
        watch = _Watch(task_env, ProcessTree(process.pid, signals), streams, signals)
        watch.until_the_end()
        process.returncode = 0  # it is reaped: subprocess must not look for it again
        return watch.told(record)


def _not_launched(
    record: TaskRecord, *, reason: str, exit_code: int | None = 0, signal: int | None = None
) -> TaskRecord:
    now_s = int(time.time())
    return replace(
        record, state=JobState.FAILED, end_s=now_s, exit_code=exit_code, signal=signal, reason=reason
    )


def _enter(workdir: str, streams: Streams) -> None:
    try:
        os.chdir(workdir)
    except OSError as error:
        streams.say(f"couldn't chdir to `{workdir}': {error.strerror}: going to {_FALLBACK_FOLDER} instead")
        os.chdir(_FALLBACK_FOLDER)


def _exec_fault(script: Path, error: OSError) -> str:
    """Say why a script could not be run, in slurmstepd's words."""
    first = script.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
    if error.errno == errno.ENOENT:
        return f"execve(): bad interpreter({first.removeprefix('#!')}): {error.strerror}"
    return f"execve(): {script}: {error.strerror}"


@dataclass(slots=True)
class _Watch:
    """A task that runs, and what was done to it."""

    task_env: TaskEnv
    tree: ProcessTree
    streams: Streams
    signals: SignalWaiter
    ended_for: JobState | None = None  # TIMEOUT or CANCELLED, once it was told to end

    def until_the_end(self) -> None:
        """Wait until the script ended, by itself or not; then end what it left behind."""
        spec = self.task_env.spec
        deadline = math.inf if spec.limit_s is None else time.monotonic() + spec.limit_s
        while not self.tree.reap():
            now = time.monotonic()
            if self.ended_for and now >= deadline:
                self.tree.send(signal.SIGKILL)
                deadline = now + spec.kill_wait_s
            elif not self.ended_for and (now >= deadline or self.signals.cancelled_by is not None):
                self._end(JobState.TIMEOUT if self.signals.cancelled_by is None else JobState.CANCELLED)
                deadline = now + spec.kill_wait_s
            else:
                self.signals.wait(deadline - now)
        self.tree.clear(spec.kill_wait_s)

    def _end(self, why: JobState) -> None:
        """Tell the task to end, and its log why."""
        self.ended_for = why
        at = time.strftime("%Y-%m-%dT%H:%M:%S")
        cause = " DUE TO TIME LIMIT" if why is JobState.TIMEOUT else ""
        self.streams.say(
            f"*** JOB {self.task_env.own_id} ON {self.task_env.node} CANCELLED AT {at}{cause} ***"
        )
        self.tree.terminate()

    def told(self, record: TaskRecord) -> TaskRecord:
        """Return how the task ended."""
        code = os.waitstatus_to_exitcode(self.tree.status or 0)
        killed_by = -code if code < 0 else None
        state, reason = _verdict(code)
        if self.ended_for is not None:
            state, reason = self.ended_for, _TIME_LIMIT if self.ended_for is JobState.TIMEOUT else ""
        return replace(
            record,
            state=state,
            reason=reason,
            end_s=int(self.tree.ended_s),
            exit_code=max(code, 0),
            signal=killed_by,
            cancelled_by=self.signals.cancelled_by if state is JobState.CANCELLED else None,
            max_rss_bytes=self.tree.max_rss_bytes,
            cpu_s=round(self.tree.cpu_s, 3),
        )


def _verdict(code: int) -> tuple[JobState, str]:
    """Judge an exit: negative is a signal. The reasons are the words of squeue."""
    if code == 0:
        return JobState.COMPLETED, ""
    if code > 0:
        return JobState.FAILED, "NonZeroExitCode"
    return JobState.FAILED, f"RaisedSignal:{-code}({signal.strsignal(-code) or 'unknown'})"
