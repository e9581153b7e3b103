"""A local server that stands in for Discord: it enforces the documented limits and answers as Discord does.

with FakeDiscord() as discord:
    discord.script(rate_limited(0.3), server_error(502))  # then 200 for ever
    ... post to discord.error_url ...
    discord.wait_for(1, timeout_s=5)
    assert discord.received(Route.ERROR)[0]["embeds"]
    assert not discord.violations
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobmon_core.domain.channels import Route
from jobmon_core.domain.webhook import Webhook
from tests.support.discord_answers import Behaviour, Scripted, bad_token, ok, unknown_message, unknown_webhook
from tests.support.discord_form import SentFile, read_body
from tests.support.discord_rules import (
    EDIT_SCHEMA,
    POST_SCHEMA,
    SCHEMA_FILE,
    Fault,
    faults,
    faults_of_edit,
    schema_faults,
)
from tests.support.loopback import Loopback, QuietHandler
from tests.support.waiting import PATIENCE_S

Payload = dict[str, Any]

_IDS = {Route.SUCCESS: "112233445566778899", Route.ERROR: "998877665544332211"}
_TOKENS = {
    Route.SUCCESS: "sUccEss-Tok3n_" + "aB3-" * 13 + "zZ",
    Route.ERROR: "eRr0r-T0ken_9_" + "xY7_" * 13 + "qQ",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request as it came in, whatever became of it; ``at_s`` is monotonic."""

    route: Route | None
    path: str
    headers: dict[str, str]
    payload: object  # None where it was not valid JSON
    at_s: float
    status: int | None  # of the answer; None where there was none
    method: str = "POST"
    files: tuple[SentFile, ...] = ()  # that it attached


class FakeDiscord(Loopback):
    """The server."""

    def __init__(self, schema_file: Path = SCHEMA_FILE) -> None:
        """``schema_file``: Discord's OpenAPI extract; where it is absent ``schema_checked`` is False."""
        super().__init__(_Handler)
        self.schema_file = schema_file
        self.schema_checked = schema_file.exists()
        self.closing = threading.Event()
        self._changed = threading.Condition()
        self._script: deque[Scripted] = deque()
        self._always = ok()
        self._attempts: list[Attempt] = []
        self._saved: list[tuple[Route, Payload]] = []
        self._files: list[SentFile] = []
        self._shown: dict[str, Payload] = {}  # the messages by id, as last edited
        self._violations: list[Fault] = []

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        super().__exit__(*error)

    @property
    def success_url(self) -> str:
        """A webhook URL, unversioned as Discord's settings show it."""
        return self.url(Route.SUCCESS)

    @property
    def error_url(self) -> str:
        """The URL of the other webhook."""
        return self.url(Route.ERROR)

    def url(self, route: Route) -> str:
        """The webhook URL of a route."""
        return f"http://127.0.0.1:{self.server_port}/api/webhooks/{_IDS[route]}/{_TOKENS[route]}"

    def script(self, *answers: Scripted) -> None:
        """Answer the next requests so, in this order; after them as usual."""
        with self._changed:
            self._script.extend(answers)

    def always(self, answer: Scripted) -> None:
        """Answer so whenever the script is at its end."""
        with self._changed:
            self._always = answer

    def received(self, route: Route | None = None) -> list[Payload]:
        """The messages that appear in a channel (or in both), in order."""
        with self._changed:
            return [payload for where, payload in self._saved if route in (None, where)]

    def shown(self) -> list[Payload]:
        """The messages of both channels as they are now, after all edits."""
        with self._changed:
            return list(self._shown.values())

    @property
    def files(self) -> list[SentFile]:
        """The files that the accepted messages attached, in order."""
        with self._changed:
            return list(self._files)

    @property
    def edits(self) -> list[Payload]:
        """The bodies of the accepted edits, in order."""
        accepted = (each for each in self.attempts if each.method == "PATCH" and each.status == 200)
        return [each.payload for each in accepted if isinstance(each.payload, dict)]

    @property
    def attempts(self) -> list[Attempt]:
        """Every request that was read, in the order of the answers."""
        with self._changed:
            return list(self._attempts)

    @property
    def violations(self) -> list[Fault]:
        """Every rule that any request broke."""
        with self._changed:
            return list(self._violations)

    def wait_for(
        self, count: int, timeout_s: float = PATIENCE_S, route: Route | None = None
    ) -> list[Payload]:
        """Wait until ``count`` messages have appeared; AssertionError with what there is if they do not."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.received(route)) >= count, timeout_s)
            got = self.received(route)
            assert len(got) >= count, f"{len(got)} of {count} messages after {timeout_s} s: {self._attempts}"
            return got

    def wait_for_attempts(self, count: int, timeout_s: float = PATIENCE_S) -> list[Attempt]:
        """Wait until ``count`` requests have come in, delivered or not."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._attempts) >= count, timeout_s)
            assert len(self._attempts) >= count, f"{len(self._attempts)} of {count} after {timeout_s} s"
            return list(self._attempts)

    def next_answer(self) -> Scripted:
        """Take the next answer of the script."""
        with self._changed:
            return self._script.popleft() if self._script else self._always

    def take(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        """Judge a message that was read, and return the answer to it."""
        return self._take(path, headers, body, planned)

    def take_edit(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        """Judge an edit of a message that was read, and return the answer to it."""
        webhook, _, message = path.partition("/messages/")
        message_id, _, query = message.partition("?")
        return self._take(f"{webhook}?{query}", headers, body, planned, message_id or "none")

    def _take(
        self, path: str, headers: dict[str, str], body: bytes, planned: Scripted, edited: str = ""
    ) -> Scripted:
        route, problem = self._route(path)
        form = read_body(headers, body)
        payload, broken = self._check(form.json_text, is_edit=bool(edited))
        broken += form.faults
        if problem is None and edited and edited not in self._shown:
            problem = unknown_message()
        answer = planned
        if problem is not None:
            answer = problem
        elif planned.saves and broken:
            answer = _refused(broken)
        with self._changed:
            self._violations += broken if problem is None else []
            number = len(self._attempts) + 1
            if answer.saves and route is not None and isinstance(payload, dict):
                if not edited:
                    self._saved.append((route, payload))
                self._files += form.files
                self._shown[edited or _message_id(number)] = payload
            status = answer.status if answer.behaviour in (Behaviour.ANSWER, Behaviour.BREAK_OFF) else None
            method = "PATCH" if edited else "POST"
            at_s = time.monotonic()
            self._attempts.append(Attempt(route, path, headers, payload, at_s, status, method, form.files))
            self._changed.notify_all()
        return _with_message(answer, payload, path, number, is_edit=bool(edited))

    def describe(self, path: str) -> Scripted:
        """Return the answer to a GET of a webhook."""
        route, problem = self._route(path)
        if problem is not None or route is None:
            return problem or unknown_webhook()
        return Scripted(200, body=json.dumps({"id": _IDS[route], "name": f"the {route} hook"}).encode())

    def _route(self, path: str) -> tuple[Route | None, Scripted | None]:
        """Find the webhook that a path names, or the answer to a path that names none."""
        try:
            wanted = Webhook.parse(f"http://localhost{path}")
        except ValueError:
            return None, unknown_webhook()
        for route in Route:
            if wanted.id == _IDS[route]:
                return (route, None) if wanted.token == _TOKENS[route] else (route, bad_token())
        return None, unknown_webhook()

    def _check(self, body: bytes, *, is_edit: bool) -> tuple[object, list[Fault]]:
        """Return the payload and every rule it breaks."""
        try:
            payload = json.loads(body)
        except ValueError:
            return None, [Fault("", "50109", "The request body contains invalid JSON.")]
        broken = faults_of_edit(payload) if is_edit else faults(payload)
        if self.schema_checked:
            broken += schema_faults(payload, self.schema_file, EDIT_SCHEMA if is_edit else POST_SCHEMA)
        return payload, broken


def _refused(broken: list[Fault]) -> Scripted:
    """The 400 for a body that breaks rules, its errors nested as Discord nests them."""
    code, message = 50035, "Invalid Form Body"
    errors: dict[str, Any] = {}
    for fault in broken:
        if fault.code.isdigit():
            code, message = int(fault.code), fault.message
            continue
        place = errors
        for key in filter(None, fault.path.split(".")):
            place = place.setdefault(key, {})
        place.setdefault("_errors", []).append({"code": fault.code, "message": fault.message})
    body = {"message": message, "code": code, **({"errors": errors} if errors else {})}
    return Scripted(400, {"Via": "1.1 google"}, json.dumps(body).encode())


def _message_id(number: int) -> str:
    return str(10**17 + number)


def _with_message(answer: Scripted, payload: object, path: str, number: int, *, is_edit: bool) -> Scripted:
    """Put the saved message into a bare 200, as ``wait=true`` asks; without it Discord says 204."""
    if (
        answer.status != 200
        or answer.body
        or answer.behaviour is not Behaviour.ANSWER
        or not isinstance(payload, dict)
    ):
        return answer
    if not is_edit and "wait=true" not in path:
        return Scripted(204, answer.headers, saves=True)
    message = {"id": _message_id(number), "type": 0, "content": payload.get("content", "")}
    message |= {"embeds": payload.get("embeds", []), "channel_id": "1" * 18}
    return Scripted(200, answer.headers, json.dumps(message).encode(), saves=True)


class _Handler(QuietHandler):
    server: FakeDiscord
    timeout = 300  # a busy machine may be slow

    def answer(self) -> None:
        discord = self.server
        planned = discord.next_answer()
        if planned.behaviour is Behaviour.CLOSE_UNREAD:
            return
        body = self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        take = discord.take_edit if self.command == "PATCH" else discord.take
        answer = take(self.path, headers, body, planned)
        if answer.behaviour is Behaviour.HANG:
            discord.closing.wait()
        if answer.behaviour in (Behaviour.ANSWER, Behaviour.BREAK_OFF):
            self._send(answer)

    def answer_get(self) -> None:
        """Describe the webhook, as Discord does; this is not an attempt to post."""
        self._send(self.server.describe(self.path))

    def _send(self, answer: Scripted) -> None:
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        promised = len(answer.body) * (2 if answer.behaviour is Behaviour.BREAK_OFF else 1)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(answer.body)
