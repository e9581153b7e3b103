"""What jobmon does with a webhook of Discord: posts messages, keeps cards, and checks it.

A card is a silent message about a job that the webhook edits.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core import __version__
from jobmon_core.domain.delivery.outbox import DeliveryOutcome
from jobmon_core.notify.attached import attached_file
from jobmon_core.notify.base import CardResult
from jobmon_core.notify.clean_text import one_line
from jobmon_core.notify.discord.payload import USERNAME, card_payload, full, plain
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.notify.http_channel import json_object
from jobmon_core.system.http import HttpRequest, HttpResponse, encode_form, send

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.card import Card
    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt
    from jobmon_core.domain.webhook import Webhook
    from jobmon_core.notify.attached import AttachedFile
    from jobmon_core.notify.base import AttemptResult
    from jobmon_core.notify.discord.settings import DiscordSettings
    from jobmon_core.system.http import SendResult

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

    def _post(self, payload: dict[str, Any], file: AttachedFile | None = None) -> SendResult:
        webhook = self.settings.webhook
        body, content_type = json.dumps(payload).encode(), "application/json"
        if file:
            body, content_type = form_body(payload, file)
        request = HttpRequest(webhook.url, str(webhook), body, USER_AGENT, content_type)
        return send("POST", request, self.timeout_s)


# Source: Discord's API reference, "Uploading Files": ``multipart/form-data`` with the JSON as
# ``payload_json`` and each file as ``files[n]``; up to 10 MiB a file. jobmon attaches far less.
def form_body(payload: dict[str, Any], file: AttachedFile) -> tuple[bytes, str]:
    """Return the body of a request with a message and its file, and the content type of the body."""
    return encode_form(
        {
            "payload_json": json.dumps(payload),
            "files[0]": (file.name, file.content, "text/plain; charset=utf-8"),
        }
    )


_SUPPRESS_NOTIFICATIONS = 1 << 12
_MESSAGE_ID = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class DiscordCards:
    """The cards of one webhook. The timeout is short: an attempt delays the monitor, and cards can wait."""

    settings: DiscordSettings
    timeout_s: float = 4.0

    def post_card(self, card: Card, at_s: float) -> CardResult:
        """Make one attempt to post a card, which notifies nobody."""
        payload = {"username": USERNAME, **card_payload(card, at_s), "flags": _SUPPRESS_NOTIFICATIONS}
        result = send("POST", self._request(self.settings.webhook.url, payload), self.timeout_s)
        receipt = interpret_response(result).receipt
        if receipt.outcome is not DeliveryOutcome.DELIVERED or not isinstance(result, HttpResponse):
            return CardResult(receipt)
        return CardResult(receipt, _message_id(result))

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Make one attempt to replace the content of a posted card."""
        request = self._request(self.settings.webhook.message_url(message_id), card_payload(card, at_s))
        return interpret_response(send("PATCH", request, self.timeout_s)).receipt

    def _request(self, url: str, payload: dict[str, Any]) -> HttpRequest:
        return HttpRequest(url, str(self.settings.webhook), json.dumps(payload).encode(), USER_AGENT)


def _message_id(response: HttpResponse) -> str:
    """Return the id of the message in a response; empty if there is none."""
    message_id = json_object(response).get("id")
    return message_id if isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id) else ""


_TIMEOUT_S = 10.0


class WebhookCheck(NamedTuple):
    """The result of a check: the webhook works, Discord refuses it, or neither is certain."""

    name: str  # of the webhook, as set in Discord; may be empty
    why: str = ""  # why it does not work, or could not be checked; empty if it works
    is_refused: bool = False


def check_webhook(webhook: Webhook) -> WebhookCheck:
    """Ask Discord about a webhook; raises no network error."""
    result = send("GET", HttpRequest(webhook.url, str(webhook), b"", USER_AGENT), _TIMEOUT_S)
    receipt = interpret_response(result).receipt
    if receipt.outcome is not DeliveryOutcome.DELIVERED or not isinstance(result, HttpResponse):
        return WebhookCheck("", receipt.why, is_refused=receipt.outcome is DeliveryOutcome.CHANNEL_DEAD)
    data = json_object(result)
    if data.get("id") != webhook.id:
        return WebhookCheck("", "the answer is not from Discord; does this network require a login?")
    return WebhookCheck(one_line(str(data.get("name") or "")))
