"""Runs work in a helper: a short-lived child process, forked from this one.

Large libraries (HTTP, the pattern matcher) must not enlarge a monitor, and foreign data (logs) not crash it.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from jobmon_core.system.process import fork_with_pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

T = TypeVar("T")

_OWN_ERROR = re.compile(r"^jobmon_core(?:\.\w+)+: ")
_REAP_S = 2.0
_REAP_STEP_S = 0.01


class HelperFailed(Exception):
    """The work gave no result: its process did not start, was killed or timed out, or the work raised."""

    @property
    def reason(self) -> str:
        """Why, in one line: of a traceback, the error; of an error of jobmon itself, its text."""
        return _OWN_ERROR.sub("", str(self).rstrip().rpartition("\n")[2])


class HelperKilled(HelperFailed):
    """Its process ended without a result: it was killed."""


class HelperRaised(HelperFailed):
    """The work raised an exception, a bug that would occur again; the message is the traceback."""


class Step(NamedTuple, Generic[T]):
    """A part of the work of a helper."""

    work: Callable[[Any], T]  # takes what the step before returned
    timeout_s: float
    failure: str = ""  # what to log, before the reason


@dataclass(frozen=True, slots=True)
class Helper:
    """Runs work in child processes; they close ``close_fds``, descriptors that only the parent may hold."""

    close_fds: Iterable[int] = ()

    def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
        """Run ``work`` in a child process; return its result, a record of ``kind``; HelperFailed."""
        with closing(self._results(kind, None, [Step(lambda _: work(), timeout_s)])) as results:
            return next(results)

    def run_steps(self, kind: type[T], value: T, steps: Sequence[Step[T]], log: Callable[[str], None]) -> T:
        """Run steps in one child process, each on what the one before returned; return the last result.

        A step that fails is logged and changes nothing; another child goes on after it. If the child is
        killed, another one tries its step once more.
        """
        value, rest = self.begin_steps(kind, value, steps, log, len(steps))
        rest.close()
        return value

    def begin_steps(
        self, kind: type[T], value: T, steps: Sequence[Step[T]], log: Callable[[str], None], awaited: int
    ) -> tuple[T, Generator[T]]:
        """Return the result of the first ``awaited`` steps, and what yields those of the others.

        The child goes on with the others meanwhile, until the generator is closed; it raises HelperFailed.
        """
        done, was_killed = 0, False
        results = self._results(kind, value, steps)
        while done < awaited:
            try:
                value = next(results)
                done, was_killed = done + 1, False
            except HelperFailed as error:
                if isinstance(error, HelperKilled) and not was_killed:
                    was_killed = True
                else:
                    log(f"{steps[done].failure}: {error}")
                    done, was_killed = done + 1, False
                results = self._results(kind, value, steps[done:])
        return value, results

    def _results(self, kind: type[T], value: object, steps: Sequence[Step[T]]) -> Generator[T]:
        """Yield the result of each step once the child has it; HelperFailed at the first failure."""
        try:
            pid, pipe = fork_with_pipe()
        except OSError as error:
            raise HelperFailed(f"cannot start a worker process: {error.strerror}") from error
        if pid == 0:
            self._run_child(value, steps, pipe)
        unread = bytearray()
        try:
            for step in steps:
                yield _result(kind, _read_line(pipe, unread, step.timeout_s))
        finally:
            os.close(pipe)
            _end(pid)

    def _run_child(self, value: object, steps: Sequence[Step[T]], writing: int) -> NoReturn:
        """Run the steps and exit, also if the parent was killed meanwhile and writing a result fails.

        The child would otherwise continue as a second monitor without the lock.
        """
        try:
            with open(writing, "w", encoding="utf-8") as pipe:
                try:
                    for descriptor in self.close_fds:
                        os.close(descriptor)
                    signal.pthread_sigmask(signal.SIG_SETMASK, ())
                    for step in steps:
                        value = step.work(value)
                        print(json.dumps({"result": to_json(value)}), file=pipe, flush=True)
                except BaseException:  # noqa: BLE001 - the parent reports it
                    import traceback  # only here: an idle monitor must stay small

                    print(json.dumps({"failure": traceback.format_exc(limit=-3)}), file=pipe)
        finally:
            os._exit(0)


def _read_line(reading: int, unread: bytearray, timeout_s: float) -> bytes:
    """Return the next line, or what came before the end; ``unread`` keeps what follows the line."""
    deadline_s = time.monotonic() + timeout_s
    poll = select.poll()  # unlike select(2) it takes descriptors above 1023, which a monitor of many jobs has
    poll.register(reading, select.POLLIN)
    while b"\n" not in unread:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            raise HelperFailed(f"no result within {timeout_s:g} s")
        chunk = os.read(reading, 65536)
        if not chunk:
            break
        unread += chunk
    line, _, rest = bytes(unread).partition(b"\n")
    unread[:] = rest
    return line


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
