"""The process that makes the pages: it reads jobmon's files, here or on another machine.

It is asked and answers with one JSON object a line, and forks for each page: what reads foreign logs may
crash, and its memory is free again once the page is made. A browser cannot speak to it by accident, since it
speaks no HTTP.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from jobmon_core.system.runner import start_asked
from jobmon_core.system.web.request import CSS, HTML, JAVASCRIPT, BadRequest, Request, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.system.runner import Program

_GREETING = b"jobmon-web 1"
_START_S, _ANSWER_S = 60.0, 30.0  # to log in on another machine; to make a page
_MAX_LINE_BYTES = 32 * 2**20
_CHUNK_BYTES = 65_536
_PLACE = re.compile(r"Location: /(?!/)[!-~]*")  # the only header that pages add; it leads to no other host
_MAX_NOISE = 200  # lines that a login may print before


class NoAnswer(Exception):
    """The process did not start, ended, or took too long."""


class ForkedProgram:
    """A copy of this process that answers what it is asked, as a `Program` does."""

    def __init__(self, answer: Callable[[tuple[int, int]], object]) -> None:
        """Fork, which only one thread may do; ``answer`` gets the descriptors to read and write; OSError."""
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            try:
                answer((theirs.fileno(), theirs.fileno()))
            finally:
                os._exit(0)
        theirs.close()
        self.stdin = self.stdout = ours.makefile("rwb", buffering=0)

    def poll(self) -> None:
        """Say that it runs: if it does not, it cannot be asked."""

    def kill(self) -> None:
        """Kill it; it is there until `wait`."""
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        """Reap it."""
        os.waitpid(self._pid, 0)


@dataclass(slots=True)
class PageProcess:
    """Asks the process ``first``, if it is given, and once that has ended the one that ``argv`` starts."""

    argv: Sequence[str]
    first: ForkedProgram | None = None
    _process: Program | ForkedProgram | None = field(default=None, init=False)
    _rest: bytes = field(default=b"", init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def start(self) -> None:
        """Start it, if it does not run, and wait until it can be asked; NoAnswer."""
        with self._lock:
            self._start()

    def answer(self, request: Request) -> Response:
        """Return its answer; BadRequest if it refuses, or gives none (503), or takes too long (504)."""
        line = json.dumps(asdict(request)).encode() + b"\n"
        if not self._lock.acquire(timeout=_ANSWER_S):
            raise BadRequest(HTTPStatus.GATEWAY_TIMEOUT)
        try:
            response = self._asked(line)
        except TimeoutError as error:
            self._end()
            raise BadRequest(HTTPStatus.GATEWAY_TIMEOUT) from error
        except (NoAnswer, OSError, ValueError, KeyError, TypeError) as error:
            self._end()
            raise BadRequest(HTTPStatus.SERVICE_UNAVAILABLE) from error
        finally:
            self._lock.release()
        if response.status >= HTTPStatus.BAD_REQUEST and not response.body:  # the server words it
            raise BadRequest(response.status)
        return response

    def _asked(self, line: bytes) -> Response:
        try:
            got = self._ask(line)
        except (NoAnswer, ConnectionError):  # it ended since, for nobody looked; or it crashed: once more
            self._end()
            got = self._ask(line)
        given: dict[str, Any] = json.loads(got)
        given |= {"status": HTTPStatus(given["status"]), "headers": tuple(given["headers"])}
        response = Response(**given)
        if not _is_ours(response):
            raise ValueError
        return response

    def _ask(self, line: bytes) -> bytes:
        process = self._start()
        assert process.stdin  # noqa: S101 - it has one
        process.stdin.write(line)
        return self._line(process, _ANSWER_S)

    def _start(self) -> Program | ForkedProgram:
        if self._process and self._process.poll() is None:
            return self._process
        self._end()
        try:
            self._process, self.first = self.first or start_asked(self.argv), None
        except OSError as error:
            raise NoAnswer(f"{self.argv[0]}: {error.strerror}") from error
        for _ in range(_MAX_NOISE):
            if self._line(self._process, _START_S) == _GREETING:
                return self._process
        raise NoAnswer(f"{self.argv[0]}: it does not answer as `jobmon web --stdio` does")

    def _line(self, process: Program | ForkedProgram, timeout_s: float) -> bytes:
        assert process.stdout  # noqa: S101 - it has one
        until_s, pieces = time.monotonic() + timeout_s, [self._rest]
        while b"\n" not in pieces[-1]:
            if not select.select([process.stdout], [], [], max(0.0, until_s - time.monotonic()))[0]:
                raise TimeoutError
            got = os.read(process.stdout.fileno(), _CHUNK_BYTES)
            if not got or sum(map(len, pieces)) > _MAX_LINE_BYTES:
                raise NoAnswer(f"{self.argv[0]}: ended without an answer")
            pieces.append(got)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def _end(self) -> None:
        if process := self._process:
            self._process, self._rest = None, b""
            with suppress(OSError):
                process.kill()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with suppress(OSError):
                        pipe.close()
            process.wait()


def _is_ours(response: Response) -> bool:
    """Whether it is as jobmon answers: the other machine may be less trusted than this one."""
    leads_here = all(_PLACE.fullmatch(each) for each in response.headers)
    is_page = response.content_type in (HTML, CSS, JAVASCRIPT)
    return leads_here and is_page and (response.etag.isalnum() or not response.etag)


def serve_lines(
    answer: Callable[[Request], Response], idle_s: float | None, descriptors: tuple[int, int]
) -> None:
    """Answer what is asked on the first descriptor on the second, until it ends or for ``idle_s`` seconds."""
    _write(descriptors[1], _GREETING)
    for line in _lines(descriptors[0], idle_s):
        try:
            response = answer(Request(**json.loads(line)))
        except BadRequest as refused:
            response = Response(status=refused.status)
        _write(descriptors[1], json.dumps(asdict(response)).encode())


def _lines(descriptor: int, idle_s: float | None) -> Iterator[bytes]:
    rest = b""
    while select.select([descriptor], [], [], idle_s)[0] and (got := os.read(descriptor, _CHUNK_BYTES)):
        *lines, rest = (rest + got).split(b"\n")
        yield from lines


def _write(descriptor: int, line: bytes) -> None:
    left = memoryview(line + b"\n")
    while left:
        left = left[os.write(descriptor, left) :]
