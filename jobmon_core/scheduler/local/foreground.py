"""A local job in the foreground: its output goes to the terminal too, and Ctrl-C reaches it."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.system.process import ProcessId, ProcessStatus, start_ticks
from jobmon_core.system.relay import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from jobmon_core.scheduler.local.job_dir import JobDir, TaskRecord

_CHUNK_BYTES = 65536
_INTERVAL_S = 0.1


class TerminalClosed(Exception):
    """The user's terminal was closed (SIGHUP)."""


@dataclass(slots=True)
class ForwardedSignals:
    """Passes signals on to the supervisor of a job, once the job is known."""

    _supervisor: ProcessId | None = field(default=None, init=False)
    _early: list[int] = field(default_factory=list, init=False)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals in this block, but those that are ignored (nohup)."""
        numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
        previous = {
            number: signal.signal(number, self._handle)
            for number in numbers
            if signal.getsignal(number) != signal.SIG_IGN
        }
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def forward_to(self, supervisor: ProcessId) -> None:
        """Handle the signals that arrived so far, and then each at once."""
        self._supervisor = supervisor
        early, self._early = self._early, []
        for number in early:
            self._handle(number, None)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self._supervisor is None:
            self._early.append(number)
        elif number == signal.SIGHUP:
            raise TerminalClosed
        elif start_ticks(self._supervisor.pid) == self._supervisor.start_ticks:
            with suppress(ProcessLookupError):
                os.kill(self._supervisor.pid, number)


class ForegroundJob:
    """A job that is no array, and the descriptors to which its output is copied."""

    def __init__(self, folder: JobDir, supervisor: ProcessId, stdout_fd: int = 1, stderr_fd: int = 2) -> None:
        """Set up."""
        self._folder = folder
        self._supervisor = supervisor
        self._targets = (Target(stdout_fd), Target(stderr_fd))
        self._readers: list[_LogReader] = []
        self._this_process = ProcessId.current()

    def end_line(self) -> None:
        """Let the next message on the terminal begin a line."""
        for target in self._targets:
            target.end_line()

    def copy_output(self, on_pause: Callable[[], None]) -> TaskRecord | None:
        """Copy output until the job has ended; return its final record.

        ``on_pause`` is called while there is no new output. None: the supervisor was killed, and nothing
        recorded the end.
        """
        while not self._has_ended():
            if not self._copy():
                on_pause()
                time.sleep(_INTERVAL_S)
        while self._copy():
            pass
        for reader in self._readers:
            reader.close()
        records = [*self._folder.tasks(), self._folder.never_started_record()]
        if self._folder.ended_s() is not None:
            return records[0]
        return None

    def _copy(self) -> bool:
        if not self._readers:
            for record in self._folder.tasks():
                paths = dict.fromkeys((record.stdout, record.stderr))
                self._readers = [_LogReader(*pair) for pair in zip(paths, self._targets, strict=False)]
        transferred = [reader.transfer() for reader in self._readers]
        return any(transferred)

    def _has_ended(self) -> bool:
        # first the supervisor's status, then `ended_s`: in between, it may write the last record and end
        is_supervised = self._supervisor.status(self._this_process) is ProcessStatus.RUNNING
        if is_supervised or self._folder.ended_s() is not None:
            return self._folder.ended_s() is not None
        return not any(_still_runs(task) for task in self._folder.tasks())


def _still_runs(task: TaskRecord) -> bool:
    return None not in (task.pid, task.start_ticks) and start_ticks(task.pid or 0) == task.start_ticks


class _LogReader:
    def __init__(self, path: str, target: Target) -> None:
        self._target = target
        self._file = _open_regular(path)

    def transfer(self) -> bool:
        """Copy at most 64 KiB; return whether there was any."""
        if self._file is None:
            return False
        chunk = os.read(self._file, _CHUNK_BYTES)
        if not chunk and os.fstat(self._file).st_size < os.lseek(self._file, 0, os.SEEK_CUR):
            os.lseek(self._file, 0, os.SEEK_SET)  # the program truncated its log
            chunk = os.read(self._file, _CHUNK_BYTES)
        self._target.write(chunk)
        return bool(chunk)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)


def _open_regular(path: str) -> int | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None
