"""An HTTP server on a free loopback port, in its own thread, for the time of a ``with`` block."""

from __future__ import annotations

import random
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

_SERVERS = range(10_000, 20_000)  # the kernel gives none of these ports to a client, nor is one Slurm's here


def free_ports(count: int) -> list[int]:
    """Return ports on which a server can be started, also again later.

    A port from the range of clients may belong to one of them by then.
    """
    found: set[int] = set()
    while len(found) < count:
        port = random.choice(_SERVERS)  # noqa: S311 - any will do
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                found.add(port)
    return list(found)


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing; subclasses answer the requests."""

    def do_POST(self) -> None:
        """Answer a request."""
        self.answer()

    def do_PATCH(self) -> None:
        """Answer a request to change something."""
        self.answer()

    def do_PUT(self) -> None:
        """Answer a request that may be repeated."""
        self.answer()

    def do_GET(self) -> None:
        """Answer a request without a body."""
        self.answer_get()

    def answer_get(self) -> None:
        """Answer that there is nothing; subclasses may know better."""
        self.send_error(404)

    def answer(self) -> None:
        """Read the request and answer it."""
        raise NotImplementedError

    def body(self) -> bytes:
        """Read the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing."""


class Loopback(ThreadingHTTPServer):
    """The server; subclasses hold the state of their handlers."""

    daemon_threads = True
    request_queue_size = 128  # forty monitors may report at once
    block_on_close = False  # a handler that hangs ends with the test

    def __init__(self, handler: type[QuietHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: tests disconnect in the middle of requests."""
