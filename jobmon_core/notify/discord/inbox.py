"""The embedded inbox: a small local receiver that stands in for Discord, to see messages without it."""

from __future__ import annotations

import json
import secrets
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

from jobmon_core.domain.channels import Route
from jobmon_core.domain.webhook import Webhook

if TYPE_CHECKING:
    from types import TracebackType

_HOST = "127.0.0.1"
_MOST_BYTES = 1_048_576
_IDLE_S = 10.0  # how long a silent sender is waited for
_CARRIERS = ("content", "embeds", "components", "poll")  # a message needs at least one
_UNKNOWN = {"message": "Unknown Webhook", "code": 10015}


@dataclass(frozen=True, slots=True)
class Received:
    """One message as it came in; ``at_s`` in Unix seconds."""

    route: Route
    payload: dict[str, object]
    at_s: float


class Inbox:
    """A receiver on this machine alone, with one webhook for each route; use it in a ``with``.

    The webhooks' tokens are random: on a login node other users reach the port too.
    """

    def __init__(self, port: int = 0) -> None:
        """Bind to ``port`` on the loopback; 0 takes a free one.

        Raises:
            OSError: The port is taken.
        """
        self._arrived = threading.Condition()
        self._received: list[Received] = []
        self._server = _Server((_HOST, port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._hooks = {route: self._new_webhook() for route in Route}

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening; what was received stays readable."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def success_url(self) -> str:
        """The webhook URL for jobs that ended well."""
        return self._hooks[Route.SUCCESS].url

    @property
    def error_url(self) -> str:
        """The webhook URL for everything that needs attention."""
        return self._hooks[Route.ERROR].url

    def received(self, route: Route | None = None) -> tuple[Received, ...]:
        """Return what came in so far, in order; of one route, or of all."""
        with self._arrived:
            return tuple(each for each in self._received if route in (None, each.route))

    def wait_for(self, count: int, timeout_s: float) -> tuple[Received, ...]:
        """Wait until ``count`` messages have come in all, at most ``timeout_s``; return what came."""
        with self._arrived:
            self._arrived.wait_for(lambda: len(self._received) >= count, timeout_s)
            return tuple(self._received)

    def take(self, path: str, body: bytes) -> tuple[int, object]:
        """Take a request to ``path``; return the status and the JSON of the answer (None: no body)."""
        route = self._route(path)
        if route is None:
            return 404, _UNKNOWN
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            return 400, {"message": "The request body contains invalid JSON.", "code": 50109}
        if not any(payload.get(carrier) for carrier in _CARRIERS):
            return 400, {"message": "Cannot send an empty message", "code": 50006}
        with self._arrived:
            self._received.append(Received(route, payload, time.time()))
            number = len(self._received)
            self._arrived.notify_all()
        waits = parse_qs(urlsplit(path).query).get("wait", [""])[-1] in ("true", "True", "1")
        return (200, _saved(self._hooks[route], payload, number)) if waits else (204, None)

    def _new_webhook(self) -> Webhook:
        """Make up a webhook of this receiver: ids have 18 digits, tokens 68 letters."""
        number = 10**17 + secrets.randbelow(9 * 10**17)
        origin = f"http://{_HOST}:{self._server.server_port}"
        return Webhook(origin, str(number), secrets.token_urlsafe(51))

    def _route(self, path: str) -> Route | None:
        """Find the route that a request is for."""
        try:
            wanted = Webhook.parse(f"http://{_HOST}{path}")
        except ValueError:
            return None
        for route, hook in self._hooks.items():
            if wanted.id == hook.id and secrets.compare_digest(wanted.token, hook.token):
                return route
        return None


class _Server(ThreadingHTTPServer):
    """The listening socket; each request in a thread of its own."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], inbox: Inbox) -> None:
        self.inbox = inbox
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: _Server
    timeout = _IDLE_S

    def do_POST(self) -> None:
        """Take a message, or refuse one that is too large to be one."""
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > _MOST_BYTES:
            self._answer(413, {"message": "Request entity too large", "code": 40005})
            return
        self._answer(*self.server.inbox.take(self.path, self.rfile.read(int(length))))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in http.server
        """Log nothing: the line would hold the webhook's token."""

    def _answer(self, status: int, data: object) -> None:
        """Send an answer; ``None`` is one without a body."""
        body = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        if data is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _saved(hook: Webhook, payload: dict[str, object], number: int) -> dict[str, object]:
    """Return the message that Discord answers with, in its principal parts."""
    return {
        "id": str(int(hook.id) + number),
        "type": 0,
        "channel_id": hook.id,
        "webhook_id": hook.id,
        "content": payload.get("content") or "",
        "embeds": payload.get("embeds") or [],
        "author": {"id": hook.id, "username": payload.get("username") or "inbox", "bot": True},
        "timestamp": datetime.now(tz=UTC).isoformat(),
    }
