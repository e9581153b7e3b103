"""Accept connections and answer one request on each, in few threads and limited time."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from jobmon_core.system.web.listening import is_own_user
from jobmon_core.system.web.request import (
    MAX_HEAD_BYTES,
    BadRequest,
    Request,
    Response,
    encoded,
    fields_of,
    parse_head,
)

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 8
_STACK_BYTES = 512 * 1024
_CHUNK_BYTES = 8192
_END = b"\r\n\r\n"


@dataclass(slots=True)
class Server:
    """Answers requests until nobody has asked for ``idle_s`` seconds.

    ``answer`` may raise BadRequest; ``refusal`` words one. A connection serves one request, so nothing of one
    can be taken for a part of another.
    """

    listener: socket.socket
    answer: Callable[[Request], Response]
    refusal: Callable[[HTTPStatus], Response]
    idle_s: float
    client_s: float = (
        10.0  # in which a request must have arrived, and again in which its answer must be taken
    )
    _asked_s: float = field(default_factory=time.monotonic, init=False)
    _free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(THREADS), init=False)

    def serve(self, wake_fd: int = -1, on_wake: Callable[[], bool] = lambda: False) -> None:
        """Serve until idle; ``on_wake`` is called when ``wake_fd`` can be read, while it returns True."""
        threading.stack_size(_STACK_BYTES)
        watched: list[int] = [self.listener.fileno(), *([wake_fd] if wake_fd >= 0 else [])]
        while (left_s := self._asked_s + self.idle_s - time.monotonic()) > 0:
            ready, _, _ = select.select(watched, [], [], left_s)
            if wake_fd in ready and not on_wake():
                watched.remove(wake_fd)
            if watched[0] in ready:
                self._accept()

    def _accept(self) -> None:
        try:
            connection, _ = self.listener.accept()
        except OSError:  # the client has gone again, or there are too many open files for now
            time.sleep(0.01)
            return
        connection.settimeout(self.client_s)
        if not is_own_user(connection):
            connection.close()
        elif not self._free.acquire(blocking=False):
            with closing(connection), suppress(OSError):
                connection.setblocking(False)
                connection.send(encoded(self.refusal(HTTPStatus.SERVICE_UNAVAILABLE)))
        else:
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with closing(connection), suppress(OSError):  # of a client that goes, or takes too long
                method, response = self._response(connection)
                connection.settimeout(self.client_s)
                connection.sendall(encoded(response, with_body=method != "HEAD"))
                connection.shutdown(socket.SHUT_WR)
        finally:
            self._free.release()

    def _response(self, connection: socket.socket) -> tuple[str, Response]:
        method = ""
        try:
            request = _read(connection, self.client_s)
            method = request.method
            response = self.answer(request)
        except BadRequest as refused:
            return method, self.refusal(refused.status)
        self._asked_s = time.monotonic()
        if response.etag and request.headers.get("if-none-match") == f'"{response.etag}"':
            return method, replace(response, body="", status=HTTPStatus.NOT_MODIFIED)
        return method, response


def _read(connection: socket.socket, within_s: float) -> Request:
    """Read a request with its form; TimeoutError if it has not arrived in time, however it trickles."""
    until_s, got = time.monotonic() + within_s, b""
    while _END not in got:
        if len(got) > MAX_HEAD_BYTES:
            raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        got += _received(connection, until_s)
    head, _, body = got.partition(_END)
    request = parse_head(head)
    length = request.content_bytes
    while len(body) < length:
        body += _received(connection, until_s)
    return replace(request, form=fields_of(body[:length].decode("latin-1")))


def _received(connection: socket.socket, until_s: float) -> bytes:
    connection.settimeout(max(0.001, until_s - time.monotonic()))
    got = connection.recv(_CHUNK_BYTES)
    if not got:
        raise ConnectionResetError
    return got
