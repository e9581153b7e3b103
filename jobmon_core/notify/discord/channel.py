"""The Discord channel: posts messages to a webhook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobmon_core import __version__
from jobmon_core.domain.delivery.outbox import DeliveryOutcome
from jobmon_core.notify.attached import attached_file
from jobmon_core.notify.discord.form import form_body
from jobmon_core.notify.discord.payload import full, plain
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.system.http import HttpRequest, HttpResponse, post

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.attached import AttachedFile
    from jobmon_core.notify.base import AttemptResult
    from jobmon_core.notify.discord.settings import DiscordSettings
    from jobmon_core.system.http import PostResult

_FORBIDDEN = 403
# as Discord's reference, "User Agent", demands: other agents may be blocked
USER_AGENT = f"DiscordBot (https://github.com/jobmon/jobmon, {__version__})"


@dataclass(frozen=True, slots=True)
class DiscordChannel:
    """One webhook."""

    settings: DiscordSettings
    timeout_s: float = 10.0

    @property
    def name(self) -> str:
        """The word "Discord", the webhook's host and the last four digits of its id."""
        return f"Discord ({self.settings.webhook})"

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message; in the plain form if Discord refused the full one.

        If Discord refuses it with its file, it is sent again without the file: the first did not arrive.
        """
        payload = plain(entry) if entry.plain else full(entry, self.settings.mentions)
        if file := attached_file(entry):
            result = self._post(payload, file)
            attempt = interpret_response(result)
            may_not_attach = isinstance(result, HttpResponse) and result.status == _FORBIDDEN
            if attempt.receipt.outcome is not DeliveryOutcome.REFUSED_BODY and not may_not_attach:
                return attempt
        return interpret_response(self._post(payload))

    def _post(self, payload: dict[str, Any], file: AttachedFile | None = None) -> PostResult:
        webhook = self.settings.webhook
        body, content_type = json.dumps(payload).encode(), "application/json"
        if file:
            body, content_type = form_body(payload, file)
        request = HttpRequest(webhook.url, str(webhook), body, USER_AGENT, content_type)
        return post(request, self.timeout_s)
