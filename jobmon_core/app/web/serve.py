"""Serve pages to one user: at a socket or a port, or to a server on another machine that asks for them."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import socket
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.users import user_name
from jobmon_core.system.web.access import TOKEN_VALID_S, Access
from jobmon_core.system.web.listening import listen_at, listen_on_port, socket_folder
from jobmon_core.system.web.pages import ForkedProgram, NoAnswer, PageProcess, serve_lines
from jobmon_core.system.web.request import CSS, JAVASCRIPT, BadRequest, Request, Response
from jobmon_core.system.web.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["CSS", "JAVASCRIPT", "TOKEN_VALID_S", "BadRequest", "PageProcess", "Request", "Response"]
_SOCKET = "web.sock"
_MAKE_S = 25.0  # a page, before the server gives it up
_MAX_KEYS = 4096  # pressed at once


@dataclass(frozen=True, slots=True)
class WebServer:
    """Serves what ``pages`` answers, until nobody has looked for ``idle_s`` seconds.

    ``refusal`` words what is refused; ``announce`` gets a new token at the start, and whenever a line is read
    from the descriptor ``asked_fd`` (-1: never).
    """

    pages: PageProcess
    idle_s: float
    refusal: Callable[[HTTPStatus], Response]
    announce: Callable[[str], None]
    asked_fd: int = -1

    def serve(self, listener: socket.socket) -> None:
        """Serve; SchedulerUnavailable if the pages cannot be made."""
        access = Access(time.monotonic)

        def answer(request: Request) -> Response:
            admitted = access.admit(request)
            return admitted if isinstance(admitted, Response) else self.pages.answer(admitted)

        def on_line() -> bool:
            if not os.read(self.asked_fd, _MAX_KEYS):
                return False
            self.announce(access.new_token())
            return True

        try:
            self.pages.start()
        except NoAnswer as error:
            raise SchedulerUnavailable(f"no page can be shown: {error}") from error
        except TimeoutError as error:
            raise SchedulerUnavailable(
                f"no page can be shown: {self.pages.argv[0]} does not answer"
            ) from error
        self.announce(access.new_token())
        Server(listener, answer, self.refusal, self.idle_s).serve(self.asked_fd, on_line)


@contextmanager
def user_socket(environment: Mapping[str, str]) -> Iterator[tuple[socket.socket, str]]:
    """Listen at a socket that only the user can open; yield it and its path; UsageError, StorageFailed."""
    path = socket_folder(environment) / _SOCKET
    with closing(listen_at(path)) as listener:
        try:
            yield listener, str(path)
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def loopback_port(port: int) -> Iterator[tuple[socket.socket, int]]:
    """Listen on a port of this machine; yield it and its number; UsageError if it is taken."""
    with closing(listen_on_port(port)) as listener:
        yield listener, listener.getsockname()[1]


def ssh_line(path: str, port: int) -> str:
    """Return the command that makes the socket a port of the machine where it is run."""
    here = f"{user_name()}@{socket.gethostname()}"
    return f"ssh -N -L 127.0.0.1:{port}:{shlex.quote(path)} {here}"


def forked_pages(answer: Callable[[Request], Response], argv: Sequence[str]) -> PageProcess:
    """Return a copy of this process that answers, and ``argv`` if that ends; SchedulerUnavailable."""
    gc.freeze()  # else the copy would write to the memory that it shares with this process
    try:
        first = ForkedProgram(lambda descriptors: answer_lines(answer, None, descriptors))
    except OSError as error:
        raise SchedulerUnavailable(f"no page can be shown: {error}") from error
    return PageProcess(argv, first)


def in_child(answer: Callable[[], Response], report: Callable[[str], None]) -> Response:
    """Let a child process answer, which takes the memory with it; report a failure, and BadRequest."""

    def answer_once() -> Response:
        gc.disable()  # it ends before much could be collected
        return answer()

    try:
        return Helper().run(Response, answer_once, _MAKE_S)
    except HelperFailed as error:
        report(f"a page could not be made: {error}")
        raise BadRequest(HTTPStatus.SERVICE_UNAVAILABLE) from error


def answer_lines(
    answer: Callable[[Request], Response], idle_s: float | None, descriptors: tuple[int, int] = (0, 1)
) -> None:
    """Answer what a server asks on the first descriptor, until it ends or for ``idle_s`` seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, and with it the questions
    answer(Request("GET", "/"))  # so that the first page is quick
    serve_lines(answer, idle_s, descriptors)
