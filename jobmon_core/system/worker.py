"""Work done in a short-lived copy of this process.

What needs heavy libraries (HTTP, the pattern matcher) or reads what others wrote (logs) must neither
make a monitor heavy for the days it lives nor bring it down: a child takes both with it when it ends.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.system.json_codec import DecodeError, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_REAP_S = 2.0
_REAP_STEP_S = 0.01


class WorkerFailed(Exception):
    """The child ended without a result: killed, out of time, or a fault of ours that it describes."""


class WorkerRaised(WorkerFailed):
    """The work itself failed, and will again: a fault of ours."""


@dataclass(frozen=True, slots=True)
class Worker:
    """How this process makes children; ``closing`` are descriptors that they must not keep open."""

    close_fds: Iterable[int] = ()

    def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
        """Return what ``work`` returns, a record of ``kind``, having run it in a child.

        Raises:
            WorkerFailed: there is no result.
        """
        reading, writing = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(reading)
            os.close(writing)
            raise WorkerFailed(f"it could not be started: {error.strerror}") from error
        if pid == 0:
            os.close(reading)
            self._be_child(work, writing)
        os.close(writing)
        try:
            data = _read(reading, timeout_s)
        finally:
            os.close(reading)
            _end(pid)
        return _result(kind, data)

    def _be_child(self, work: Callable[[], object], writing: int) -> None:
        """Do the work and leave at once: nothing of the parent may run on in its copy.

        That holds too where the parent was killed meanwhile, so that nobody reads the result: the copy
        would go on as a second monitor, without the lock.
        """
        try:
            with open(writing, "w", encoding="utf-8") as pipe:
                pipe.write(self._answer(work))
        finally:
            os._exit(0)

    def _answer(self, work: Callable[[], object]) -> str:
        try:
            for descriptor in self.close_fds:
                os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            return json.dumps({"result": to_json(work())})
        except BaseException:  # noqa: BLE001 - whatever it was, the parent hears of it
            import traceback  # only here: a monitor that waits for days stays small

            return json.dumps({"failure": traceback.format_exc(limit=-3)})


def _read(reading: int, timeout_s: float) -> bytes:
    deadline_s = time.monotonic() + timeout_s
    chunks: list[bytes] = []
    poll = select.poll()  # unlike select it knows descriptors above 1023, which a monitor of many jobs has
    poll.register(reading, select.POLLIN)
    while (left_s := deadline_s - time.monotonic()) > 0:
        if not poll.poll(left_s * 1000):
            break
        chunk = os.read(reading, 65536)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    raise WorkerFailed(f"no result within {timeout_s:g} s")


def _end(pid: int) -> None:
    """Kill the child if it still runs, and reap it; one that a dead file system holds is left behind."""
    deadline_s = time.monotonic() + _REAP_S
    try:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        os.kill(pid, signal.SIGKILL)
        while not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() < deadline_s:
            time.sleep(_REAP_STEP_S)
    except (ChildProcessError, ProcessLookupError):
        return  # whoever started this process ignores SIGCHLD: the kernel reaps


def _result(kind: type[T], data: bytes) -> T:
    try:
        answer = json.loads(data)
    except ValueError as error:
        raise WorkerFailed("it ended without a word") from error
    if "failure" in answer:
        raise WorkerRaised(answer["failure"])
    try:
        return from_json(kind, answer["result"])
    except DecodeError as error:
        raise WorkerFailed(str(error)) from error
