"""A server that receives heartbeats: it records the calls and answers with a chosen status."""

from __future__ import annotations

from tests.support.loopback import Loopback, QuietHandler

SECRET = "eb095278-f28d-448d-87fb-7b75c171a6aa"


class HeartbeatServer(Loopback):
    """A server that answers every call with ``status``."""

    def __init__(self, status: int = 200) -> None:
        super().__init__(_Handler)
        self.status = status
        self.calls: list[str] = []

    @property
    def url(self) -> str:
        """The URL, with its secret."""
        return f"http://127.0.0.1:{self.server_port}/{SECRET}"


class _Handler(QuietHandler):
    server: HeartbeatServer

    def answer(self) -> None:
        self.body()
        self.server.calls.append(self.path)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()
