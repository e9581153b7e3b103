"""The inbox: a small local HTTP server that stands in for Discord."""

from __future__ import annotations

import json
import secrets
import threading
import time
from dataclasses import dataclass
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from jobmon_core.domain.channels import Route
from jobmon_core.domain.humanize import size
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.clean_text import one_line

_HOST = "127.0.0.1"
_MAX_BYTES = 1_048_576
_IDLE_S = 10.0  # a client that sends nothing for this long is disconnected
_CONTENT_KEYS = ("content", "embeds", "components", "poll")  # a message needs at least one
_UNKNOWN = {"message": "Unknown Webhook", "code": 10015}
_UNKNOWN_MESSAGE = {"message": "Unknown Message", "code": 10008}


@dataclass(frozen=True, slots=True)
class Received:
    """One received message, or the new content of one; ``at_s`` in Unix seconds."""

    route: Route
    payload: dict[str, object]
    at_s: float
    is_edit: bool = False  # of an earlier message
    files: tuple[str, ...] = ()  # the names and sizes of the attached files


class Inbox:
    """A server on the loopback interface with one webhook for each route; use it in a ``with``.

    The webhooks' tokens are random, because other users of a login node can reach the port too.
    """

    def __init__(self, port: int = 0) -> None:
        """Bind to ``port`` on the loopback interface (0: a free one); OSError if it is in use."""
        self._arrived = threading.Condition()
        self._received: list[Received] = []
        self._ids: set[str] = set()  # of the messages
        self._server = _Server((_HOST, port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._hooks = {route: self._new_webhook() for route in Route}

    def __enter__(self) -> Self:
        """Start to serve."""
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop serving; received messages stay readable."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def success_url(self) -> str:
        """The webhook of the success route."""
        return self._hooks[Route.SUCCESS].url

    @property
    def error_url(self) -> str:
        """The webhook of the error route."""
        return self._hooks[Route.ERROR].url

    def wait_for(self, count: int, timeout_s: float) -> tuple[Received, ...]:
        """Wait up to ``timeout_s`` seconds for a total of ``count`` messages and edits; return all so far."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self._received) >= count, timeout_s)
            return tuple(self._received)

    def handle(
        self, path: str, body: bytes, content_type: str = "", *, is_edit: bool = False
    ) -> tuple[int, object]:
        """Handle a message or an edit of one; return the status and the JSON of the response."""
        webhook, _, message_id = path.partition("/messages/")
        route = self._route(webhook)
        if route is None:
            return 404, _UNKNOWN
        text, files = _parts(body, content_type)
        try:
            payload = json.loads(text)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            return 400, {"message": "The request body contains invalid JSON.", "code": 50109}
        if not any(payload.get(key) for key in _CONTENT_KEYS):
            return 400, {"message": "Cannot send an empty message", "code": 50006}
        with self._arrived:
            if is_edit and message_id not in self._ids:
                return 404, _UNKNOWN_MESSAGE
            self._received.append(Received(route, payload, time.time(), is_edit, files))
            if not is_edit:
                message_id = str(10**17 + len(self._received))
                self._ids.add(message_id)
            self._arrived.notify_all()
        return 200, {"id": message_id, "content": payload.get("content") or ""}

    def describe(self, path: str) -> tuple[int, object]:
        """Handle a request for the description of a webhook, as Discord does."""
        route = self._route(path)
        if route is None:
            return 404, _UNKNOWN
        return 200, {"id": self._hooks[route].id, "type": 1, "name": f"jobmon inbox, {route} messages"}

    def _new_webhook(self) -> Webhook:
        """Return a random webhook of this server: ids have 18 digits, tokens 68 characters."""
        number = 10**17 + secrets.randbelow(9 * 10**17)
        origin = f"http://{_HOST}:{self._server.server_port}"
        return Webhook(origin, str(number), secrets.token_urlsafe(51))

    def _route(self, path: str) -> Route | None:
        try:
            requested = Webhook.parse(f"http://{_HOST}{path}")
        except ValueError:
            return None
        for route, hook in self._hooks.items():
            if requested.id == hook.id and secrets.compare_digest(requested.token, hook.token):
                return route
        return None


def _parts(body: bytes, content_type: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the JSON of a request, and the names and sizes of its files if it is a form."""
    if not content_type.startswith("multipart/form-data"):
        return body, ()
    text, files = b"", []
    for part in message_from_bytes(f"Content-Type: {content_type}\n\n".encode() + body).walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes) and (name := part.get_filename()):
            files.append(f"{one_line(name)} ({size(len(content))})")
        elif isinstance(content, bytes):
            text = content
    return text, tuple(files)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], inbox: Inbox) -> None:
        self.inbox = inbox
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _IDLE_S

    def do_POST(self) -> None:
        """Accept a message."""
        self._receive(is_edit=False)

    def do_PATCH(self) -> None:
        """Accept the new content of a message."""
        self._receive(is_edit=True)

    def _receive(self, *, is_edit: bool) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MAX_BYTES:
            self._respond(413, {"message": "Request entity too large", "code": 40005})
            return
        body, content_type = self.rfile.read(int(length)), self.headers.get("Content-Type", "")
        self._respond(*self.server.inbox.handle(self.path, body, content_type, is_edit=is_edit))

    def do_GET(self) -> None:
        """Describe a webhook."""
        self._respond(*self.server.inbox.describe(self.path))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing: the line would contain the webhook's token."""

    def _respond(self, status: int, data: object) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
