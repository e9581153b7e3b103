"""The process that runs one local job and records how each of its tasks ends.

    python -m jobmon_core.scheduler.local.supervisor FOLDER

It runs in a session of its own, so it survives the end of jobmon and a closed terminal.
"""

from __future__ import annotations

import errno
import math
import os
import signal
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import INTERRUPTED
from jobmon_core.domain.errors import StateUnreadable, StorageFailed
from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.domain.slurm.states import LAUNCH_IO_FAILED, JobState
from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord, new_task_id
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.system.environment import user_environment
from jobmon_core.system.process import ProcessId, adopt_orphans, descendants, own_peak_kib, start_ticks
from jobmon_core.system.runner import start_detached

if TYPE_CHECKING:
    from collections.abc import Callable
    from io import FileIO

_MODE = 0o666

_DEPENDENCY_S = 1.0
_RETRY_S = 5.0


def run_job(folder: JobDir, spec: JobSpec, host: str, signals: SignalWaiter) -> None:
    """Run the tasks one at a time, until all have ended or the job is cancelled."""
    indices: list[int | None] = [*IndexSet.parse(spec.array)] or [None]
    may_start = _await_dependency(folder, spec, signals)
    for position, index in enumerate(indices):
        signals.wait(0)
        if signals.stopped_by is not None or not may_start:
            record = TaskRecord(
                raw_job_id=folder.id,
                state=JobState.CANCELLED,
                never_started=True,
                end_s=int(time.time()),
                cancelled_by=signals.stopped_by,
                reason="" if may_start else "DependencyNeverSatisfied",
            )
        else:
            # as in Slurm the last task has the id of the whole array
            raw_job_id = folder.id if position == len(indices) - 1 else new_task_id(folder)
            task_env = TaskEnv(spec, folder.id, index, raw_job_id, host)
            record = run_task(task_env, folder.script, signals, folder.write_task)
        _retry(folder, signals, partial(folder.write_task, record))
        if record.never_started:
            break
    _retry(folder, signals, folder.mark_ended)


def _await_dependency(folder: JobDir, spec: JobSpec, signals: SignalWaiter) -> bool:
    before = [JobDir(folder.path.parent / str(job_id)) for job_id in spec.after_ok]
    while signals.stopped_by is None:
        succeeded = [_succeeded(each) for each in before]
        if False in succeeded:
            return False
        if all(succeeded):
            break
        signals.wait(_DEPENDENCY_S)
    return True


def _succeeded(folder: JobDir) -> bool | None:
    try:
        return folder.succeeded()
    except (OSError, StateUnreadable):
        return False


def _retry(folder: JobDir, signals: SignalWaiter, write: Callable[[], None]) -> None:
    while folder.path.is_dir():
        try:
            write()
        except StorageFailed:
            signals.wait(_RETRY_S)
        else:
            return


def main(arguments: list[str]) -> int:
    """Fork a supervisor; return 0 once it has taken over the job. The fork returns after the job."""
    readable, writable = os.pipe()
    if os.fork():
        os.close(writable)
        if os.read(readable, 1):
            return 0
        return 1
    os.close(readable)
    folder = JobDir(Path(arguments[0]))
    spec = folder.spec()
    if spec is None:
        raise FileNotFoundError(folder.path)
    signals = SignalWaiter()
    adopt_orphans()
    supervisor = ProcessId.current()
    folder.write_owner(supervisor)
    os.write(writable, b"1")
    os.close(writable)
    run_job(folder, spec, supervisor.host, signals)
    return 0


def run_task(
    task_env: TaskEnv, script: Path, signals: SignalWaiter, on_start: Callable[[TaskRecord], None]
) -> TaskRecord:
    """Run a task and return its final record; one that cannot be launched has FAILED.

    ``on_start`` gets the record of the running task. This process changes to the task's folder.
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
    with ExitStack() as files:
        try:
            stdin = files.enter_context(Path(task_env.path(spec.stdin)).open("rb"))
            out = files.enter_context(_open_for_writing(stdout, append=spec.append))
            is_same = stderr == stdout
            err = out if is_same else files.enter_context(_open_for_writing(stderr, append=spec.append))
            os.chdir(spec.workdir)
        except OSError as error:
            reason = f"JobLaunchFailure: could not open {error.filename}: {error.strerror}"
            return _launch_failed(record, reason, exit_code=0, signal=LAUNCH_IO_FAILED)
        argv = [str(script), *spec.arguments]
        environment = task_env.environment(user_environment(os.environ))
        try:
            process = start_detached(argv, environment, (stdin.fileno(), out.fileno(), err.fileno()))
        except OSError as error:
            message = _exec_error(script, error)
            _write_error(err, message)
            return _launch_failed(record, f"NonZeroExitCode: {message}", exit_code=error.errno)
        record = replace(record, pid=process.pid, start_ticks=start_ticks(process.pid))
        with suppress(StorageFailed):
            on_start(record)
        task = _RunningTask(task_env, ProcessTree(process.pid), err, signals)
        task.wait()
        process.returncode = 0  # ProcessTree has reaped it: subprocess must not wait for it
        return task.final_record(record)


def _open_for_writing(path: str, *, append: bool) -> FileIO:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # O_APPEND even after truncation: the supervisor's lines and the job's never overwrite each other
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if append else os.O_TRUNC)
    # a named pipe that nobody reads is an error; without O_NONBLOCK, the open would wait for ever
    descriptor = os.open(path, flags | os.O_NONBLOCK, _MODE)
    os.set_blocking(descriptor, True)
    return open(descriptor, "wb", buffering=0)


def _write_error(stderr: FileIO, message: str) -> None:
    with suppress(OSError):
        stderr.write(os.fsencode(f"jobmon: {message}\n"))


def _launch_failed(
    record: TaskRecord, reason: str, *, exit_code: int | None, signal: int | None = None
) -> TaskRecord:
    ended = replace(record, state=JobState.FAILED, reason=reason, end_s=int(time.time()))
    return replace(ended, exit_code=exit_code, signal=signal)


def _exec_error(script: Path, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        shebang = script.read_bytes().partition(b"\n")[0].decode("utf-8", "replace")
        return f"execve(): bad interpreter({shebang.removeprefix('#!')}): {error.strerror}"
    return f"execve(): {script}: {error.strerror}"


@dataclass(slots=True)
class _RunningTask:
    task_env: TaskEnv
    tree: ProcessTree
    stderr: FileIO
    signals: SignalWaiter
    terminated_for: JobState | None = None

    def wait(self) -> None:
        """Wait for the end, at the limit or by the user; kill what the script left running."""
        spec = self.task_env.spec
        deadline = math.inf if spec.limit_s is None else time.monotonic() + spec.limit_s
        while not self.tree.reap():
            for number in self.signals.take_interrupts():
                self.tree.interrupt(number)
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
        self.terminated_for = state
        at = time.strftime("%Y-%m-%dT%H:%M:%S")
        cause = ""
        if state is JobState.TIMEOUT:
            cause = " DUE TO TIME LIMIT"
        where = f"JOB {self.task_env.raw_job_id} ON {self.task_env.node}"
        _write_error(self.stderr, f"*** {where} CANCELLED AT {at}{cause} ***")
        self.tree.send(signal.SIGTERM)
        self.tree.send(signal.SIGCONT)  # stopped processes too must handle it

    def final_record(self, record: TaskRecord) -> TaskRecord:
        code = os.waitstatus_to_exitcode(self.tree.status or 0)
        state, reason = self._state_and_reason(code)
        return replace(
            record,
            state=state,
            reason=reason,
            end_s=int(self.tree.ended_s),
            exit_code=max(code, 0),
            signal=-code if code < 0 else None,
            cancelled_by=self.signals.stopped_by if state is JobState.CANCELLED else None,
            max_rss_bytes=self.tree.max_rss_bytes,
            cpu_s=round(self.tree.cpu_s, 3),
        )

    def _state_and_reason(self, code: int) -> tuple[JobState, str]:
        if self.terminated_for is not None:
            return self.terminated_for, "TimeLimit" if self.terminated_for is JobState.TIMEOUT else ""
        if code == 0:
            return JobState.COMPLETED, "" if self.signals.interrupted_by is None else INTERRUPTED
        if self.signals.interrupted_by is not None:
            return JobState.CANCELLED, ""
        if code > 0:
            return JobState.FAILED, "NonZeroExitCode"
        return JobState.FAILED, f"RaisedSignal:{-code}({signal.strsignal(-code) or 'unknown'})"


_KILL_INTERVAL_S = 0.05  # between two attempts: new processes may be forked while others are killed


@dataclass(slots=True)
class ProcessTree:
    """All processes of one task; ``leader`` runs its script in its own session."""

    leader: int
    max_rss_bytes: int | None = None  # None if none of them needed more than this process itself
    cpu_s: float = 0.0
    status: int | None = None
    ended_s: float = 0.0

    def reap(self) -> bool:
        """Collect processes that ended, with their usage; return whether the leader has.

        In a peak, Linux includes the time before the exec, when it was a copy of this process. So one that is
        not above that of this process may not be its own, and is left out.
        """
        inherited_kib = own_peak_kib()
        with suppress(ChildProcessError):
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            while pid:
                if inherited_kib is not None and usage.ru_maxrss > inherited_kib:
                    self.max_rss_bytes = max(self.max_rss_bytes or 0, usage.ru_maxrss * 1024)
                self.cpu_s += usage.ru_utime + usage.ru_stime
                if pid == self.leader:
                    self.status, self.ended_s = status, time.time()
                pid, status, usage = os.wait4(-1, os.WNOHANG)
        return self.status is not None

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to every process; return whether there is any.

        The script gets it before the commands it runs, so that it does not start the next one.
        """
        pids = descendants(os.getpid(), self.leader)
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return bool(pids)

    def interrupt(self, number: signal.Signals) -> None:
        """Send a signal to the script's process group, as a terminal does."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, number)

    def clear(self, timeout_s: float) -> None:
        """Kill what the script left running, as Slurm does."""
        deadline = time.monotonic() + timeout_s
        while self.send(signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(_KILL_INTERVAL_S)
            self.reap()
        self.reap()


_INTERRUPT = frozenset({signal.SIGINT, signal.SIGQUIT})
_AWAITED = _INTERRUPT | {signal.SIGTERM, signal.SIGCHLD}
_MAX_WAIT_S = 3600.0  # a longer wait overflows the kernel's clock on some machines


class SignalWaiter:
    """Blocks all signals: those in `_AWAITED` end `wait`, others have no effect."""

    def __init__(self) -> None:
        """Block all signals."""
        self.cancelled_by: int | None = None  # uid of the first sender of SIGTERM
        self.interrupted_by: int | None = None  # uid of the first sender of SIGINT or SIGQUIT
        self._interrupts: list[signal.Signals] = []
        every = signal.valid_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, every)
        for number in every - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # or the job would inherit what nohup ignores

    @property
    def stopped_by(self) -> int | None:
        """The uid of the user who asked the job to end, by any signal."""
        if self.cancelled_by is None:
            return self.interrupted_by
        return self.cancelled_by

    def wait(self, seconds: float) -> None:
        """Return when a child ends, a signal arrives or time is up."""
        received = signal.sigtimedwait(_AWAITED, max(0.0, min(seconds, _MAX_WAIT_S)))
        if received is None:
            return
        if received.si_signo == signal.SIGTERM and self.cancelled_by is None:
            self.cancelled_by = received.si_uid
        if received.si_signo in _INTERRUPT:
            self._interrupts.append(signal.Signals(received.si_signo))
            if self.interrupted_by is None:
                self.interrupted_by = received.si_uid

    def take_interrupts(self) -> list[signal.Signals]:
        """Those for the task since the last call."""
        taken, self._interrupts = self._interrupts, []
        return taken


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
