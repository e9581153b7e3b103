"""An HTTP server on a free port of the loopback, in a thread of its own, gone at the end of the ``with``."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing; who inherits it answers the requests."""

    def do_POST(self) -> None:
        """Take a request."""
        self.answer()

    def answer(self) -> None:
        """Read the request and answer it."""
        raise NotImplementedError

    def body(self) -> bytes:
        """Read the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing."""


class Loopback(ThreadingHTTPServer):
    """The server; who inherits it is what its handler answers from."""

    daemon_threads = True
    block_on_close = False  # an answer that hangs ends with the test

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
        """Say nothing: a client that goes away in the middle is part of the tests."""
