"""Run one task until it ends, and record how it ended."""

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
from jobmon_core.scheduler.local.job_dir import TaskRecord
from jobmon_core.scheduler.local.process_tree import ProcessTree
from jobmon_core.scheduler.local.streams import Streams
from jobmon_core.system.environment import user_environment
from jobmon_core.system.process import start_ticks
from jobmon_core.system.runner import start_detached

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.scheduler.local.process_tree import SignalWaiter
    from jobmon_core.scheduler.local.task_env import TaskEnv

_FALLBACK_DIR = "/tmp"  # noqa: S108 - as slurmstepd does


def run_task(
    task_env: TaskEnv, script: Path, signals: SignalWaiter, on_start: Callable[[TaskRecord], None]
) -> TaskRecord:
    """Run a task and return its final record; a task that cannot be launched has FAILED.

    ``on_start`` gets the record of the running task.
    """
    spec = task_env.spec
    stdout, stderr = task_env.path(spec.stdout), task_env.path(spec.stderr)
    record = TaskRecord(
        raw_job_id=task_env.raw_job_id,
        state=JobState.RUNNING,
        index=task_env.index,
        start_s=int(time.time()),
        stdout=stdout,
        stderr=stderr,
    )
    try:
        streams = Streams.open(task_env.path(spec.stdin), stdout, stderr, append=spec.append)
    except OSError as error:
        reason = f"JobLaunchFailure: could not open {error.filename}: {error.strerror}"
        return _launch_failed(record, exit_code=0, signal=LAUNCH_IO_FAILED, reason=reason)
    with closing(streams):
        _change_dir(spec.workdir, streams)
        argv = [str(script), *spec.arguments]
        environment = task_env.environment(user_environment(os.environ))
        try:
            process = start_detached(argv, environment, streams.descriptors)
        except OSError as error:
            message = _exec_error(script, error)
            streams.write_error(message)
            reason = f"NonZeroExitCode: {message}"
            return _launch_failed(record, exit_code=error.errno, signal=None, reason=reason)
        record = replace(record, pid=process.pid, start_ticks=start_ticks(process.pid))
        on_start(record)
        task = _RunningTask(task_env, ProcessTree(process.pid, signals), streams, signals)
        task.wait()
        process.returncode = 0  # ProcessTree has reaped it: subprocess must not wait for it
        return task.final_record(record)


def _launch_failed(
    record: TaskRecord, *, exit_code: int | None, signal: int | None, reason: str
) -> TaskRecord:
    now_s = int(time.time())
    return replace(
        record, state=JobState.FAILED, end_s=now_s, exit_code=exit_code, signal=signal, reason=reason
    )


def _change_dir(workdir: str, streams: Streams) -> None:
    try:
        os.chdir(workdir)
    except OSError as error:
        streams.write_error(
            f"couldn't chdir to `{workdir}': {error.strerror}: going to {_FALLBACK_DIR} instead"
        )
        os.chdir(_FALLBACK_DIR)


def _exec_error(script: Path, error: OSError) -> str:
    """Return slurmstepd's message for a script that cannot be executed."""
    shebang = script.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
    if error.errno == errno.ENOENT:
        return f"execve(): bad interpreter({shebang.removeprefix('#!')}): {error.strerror}"
    return f"execve(): {script}: {error.strerror}"


@dataclass(slots=True)
class _RunningTask:
    task_env: TaskEnv
    tree: ProcessTree
    streams: Streams
    signals: SignalWaiter
    terminated_for: JobState | None = None  # TIMEOUT or CANCELLED, once SIGTERM was sent

    def wait(self) -> None:
        """Wait until the script ends, terminating it at its limit; then kill what it left running."""
        spec = self.task_env.spec
        deadline = math.inf if spec.limit_s is None else time.monotonic() + spec.limit_s
        while not self.tree.reap():
            now = time.monotonic()
            if self.terminated_for and now >= deadline:
                self.tree.send(signal.SIGKILL)
                deadline = now + spec.kill_wait_s
            elif not self.terminated_for and (now >= deadline or self.signals.cancelled_by is not None):
                self._terminate(JobState.TIMEOUT if self.signals.cancelled_by is None else JobState.CANCELLED)
                deadline = now + spec.kill_wait_s
            else:
                self.signals.wait(deadline - now)
        self.tree.clear(spec.kill_wait_s)

    def _terminate(self, state: JobState) -> None:
        """Send SIGTERM to the task, and write the reason to its stderr."""
        self.terminated_for = state
        at = time.strftime("%Y-%m-%dT%H:%M:%S")
        cause = " DUE TO TIME LIMIT" if state is JobState.TIMEOUT else ""
        self.streams.write_error(
            f"*** JOB {self.task_env.raw_job_id} ON {self.task_env.node} CANCELLED AT {at}{cause} ***"
        )
        self.tree.terminate()

    def final_record(self, record: TaskRecord) -> TaskRecord:
        """Return the record of the ended task."""
        code = os.waitstatus_to_exitcode(self.tree.status or 0)
        state, reason = self._state_and_reason(code)
        return replace(
            record,
            state=state,
            reason=reason,
            end_s=int(self.tree.ended_s),
            exit_code=max(code, 0),
            signal=-code if code < 0 else None,
            cancelled_by=self.signals.cancelled_by if state is JobState.CANCELLED else None,
            max_rss_bytes=self.tree.max_rss_bytes,
            cpu_s=round(self.tree.cpu_s, 3),
        )

    def _state_and_reason(self, code: int) -> tuple[JobState, str]:
        """Return the final state and squeue's reason for it; a negative code is a signal."""
        if self.terminated_for is not None:
            return self.terminated_for, "TimeLimit" if self.terminated_for is JobState.TIMEOUT else ""
        if code == 0:
            return JobState.COMPLETED, ""
        if code > 0:
            return JobState.FAILED, "NonZeroExitCode"
        return JobState.FAILED, f"RaisedSignal:{-code}({signal.strsignal(-code) or 'unknown'})"
