"""Runs work in a helper: a short-lived child process, forked from this one.

Large libraries (HTTP, the pattern matcher) must not enlarge a monitor, and foreign data (logs) not crash it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeVar

from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from jobmon_core.system.process import fork_with_pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_REAP_S = 2.0
_REAP_STEP_S = 0.01


class HelperFailed(Exception):
    """The work gave no result: its process did not start, was killed or timed out, or the work raised."""

    @property
    def reason(self) -> str:
        """Why, in one line: of a traceback, the error."""
        return str(self).rstrip().rpartition("\n")[2]


class HelperKilled(HelperFailed):
    """Its process ended without a result: it was killed."""


class HelperRaised(HelperFailed):
    """The work raised an exception, a bug that would occur again; the message is the traceback."""


@dataclass(frozen=True, slots=True)
class Helper:
    """Runs work in child processes; they close ``close_fds``, descriptors that only the parent may hold."""

    close_fds: Iterable[int] = ()

    def run_twice(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
        """Do as `run`, once more if the child was killed; for work that may be done twice."""
        try:
            return self.run(kind, work, timeout_s)
        except HelperKilled:
            return self.run(kind, work, timeout_s)

    def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
        """Run ``work`` in a child process; return its result, a record of ``kind``.

        Raises:
            HelperFailed: the child did not start, or gave no valid result within ``timeout_s`` seconds.
        """
        try:
            pid, pipe = fork_with_pipe()
        except OSError as error:
            raise HelperFailed(f"cannot start a worker process: {error.strerror}") from error
        if pid == 0:
            self._run_child(work, pipe)
        try:
            data = _read(pipe, timeout_s)
        finally:
            os.close(pipe)
            _end(pid)
        return _result(kind, data)

    def _run_child(self, work: Callable[[], object], writing: int) -> NoReturn:
        """Run the work and exit, also if the parent was killed meanwhile and writing the result fails.

        The child would otherwise continue as a second monitor without the lock.
        """
        try:
            with open(writing, "w", encoding="utf-8") as pipe:
                pipe.write(self._result_json(work))
        finally:
            os._exit(0)

    def _result_json(self, work: Callable[[], object]) -> str:
        try:
            for descriptor in self.close_fds:
                os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            return json.dumps({"result": to_json(work())})
        except BaseException:  # noqa: BLE001 - the parent reports it
            import traceback  # only here: an idle monitor must stay small

            return json.dumps({"failure": traceback.format_exc(limit=-3)})


def _read(reading: int, timeout_s: float) -> bytes:
    deadline_s = time.monotonic() + timeout_s
    data = bytearray()
    poll = select.poll()  # unlike select(2) it takes descriptors above 1023, which a monitor of many jobs has
    poll.register(reading, select.POLLIN)
    while (remaining_s := deadline_s - time.monotonic()) > 0 and poll.poll(remaining_s * 1000):
        chunk = os.read(reading, 65536)
        if not chunk:
            return bytes(data)
        data += chunk
    raise HelperFailed(f"no result within {timeout_s:g} s")


def _end(pid: int) -> None:
    """Kill the child if it still runs, and reap it, unless a dead file system blocks it in the kernel."""
    deadline_s = time.monotonic() + _REAP_S
    try:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        os.kill(pid, signal.SIGKILL)
        while not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() < deadline_s:
            time.sleep(_REAP_STEP_S)
    except (ChildProcessError, ProcessLookupError):
        return  # the parent of this process ignored SIGCHLD, so the kernel reaps


def _result(kind: type[T], data: bytes) -> T:
    try:
        result = json.loads(data)
        if "failure" not in result:
            return from_json(kind, result["result"])
    except DecodeError as error:
        raise HelperFailed(str(error)) from error
    except ValueError as error:
        raise HelperKilled("the worker process ended without a result") from error
    raise HelperRaised(result["failure"])
