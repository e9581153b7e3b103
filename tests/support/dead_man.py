"""The receiving end of a heartbeat: counts its calls, and answers as told."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

SECRET = "eb095278-f28d-448d-87fb-7b75c171a6aa"


class DeadMan:
    """A server on a free port of the loopback, gone at the end of the ``with``."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.calls: list[str] = []
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The secret address."""
        return f"http://127.0.0.1:{self._server.server_port}/{SECRET}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], dead_man: DeadMan) -> None:
        self.dead_man = dead_man
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.dead_man.calls.append(self.path)
        self.send_response(self.server.dead_man.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing."""
