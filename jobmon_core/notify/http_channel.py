"""The channel of the services other than Discord that take a message as one JSON request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core import __version__
from jobmon_core.notify.responses import interpret
from jobmon_core.system.http import HttpRequest, post, put

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.base import AttemptResult
    from jobmon_core.notify.responses import Service

USER_AGENT = f"jobmon/{__version__} (+https://github.com/jobmon/jobmon)"


class JsonRequest(NamedTuple):
    """One request of a channel; its texts may hold secrets."""

    url: str
    payload: dict[str, Any]
    headers: dict[str, str] = {}  # noqa: RUF012 - nobody changes it
    is_put: bool = False


@dataclass(frozen=True, slots=True)
class HttpChannel:
    """A channel of one service. ``name`` and ``receiver`` hold no secrets."""

    name: str
    receiver: str  # the destination, for errors
    service: Service
    request: Callable[[OutboxEntry], JsonRequest]
    secrets: tuple[str, ...]
    timeout_s: float = 10.0

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message."""
        planned = self.request(entry)
        body = json.dumps(planned.payload, ensure_ascii=False).encode("utf-8", "replace")
        request = HttpRequest(planned.url, self.receiver, body, USER_AGENT, headers=planned.headers)
        send = put if planned.is_put else post
        return interpret(send(request, self.timeout_s), self.service, self.secrets)
