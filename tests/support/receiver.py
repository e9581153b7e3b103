"""An HTTP server that stands for any service: it records the requests and gives scripted answers."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from tests.support.discord_answers import Behaviour, Scripted
from tests.support.loopback import Loopback, QuietHandler


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def payload(self) -> dict[str, Any]:
        """The JSON object in the body."""
        data = json.loads(self.body)
        assert isinstance(data, dict)
        return data


class Receiver(Loopback):
    """A server that gives ``answer`` to every request."""

    def __init__(self, answer: Scripted | None = None) -> None:
        super().__init__(_Handler)
        self.answer = answer or Scripted(200, body=b"ok")
        self.requests: list[Recorded] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        """The URL, without a slash at its end."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def payloads(self) -> list[dict[str, Any]]:
        """The JSON objects that were sent."""
        return [request.payload for request in self.requests]

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        super().__exit__(*error)


class _Handler(QuietHandler):
    server: Receiver
    timeout = 300  # a busy machine may be slow

    def answer_get(self) -> None:
        self.answer()

    def answer(self) -> None:
        receiver, body = self.server, self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver.requests.append(Recorded(self.command, self.path, headers, body))
        answer = receiver.answer
        if answer.behaviour is Behaviour.HANG:
            receiver.closing.wait()
        if answer.behaviour is not Behaviour.ANSWER:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
