"""The card of a job on Discord: a silent message that the webhook edits."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.delivery.outbox import DeliveryOutcome
from jobmon_core.notify.base import CardResult
from jobmon_core.notify.discord.channel import USER_AGENT
from jobmon_core.notify.discord.payload import USERNAME, card_payload
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.system.http import HttpRequest, HttpResponse, patch, post

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.card import Card
    from jobmon_core.domain.delivery.outbox import Receipt
    from jobmon_core.domain.webhook import Webhook

_SUPPRESS_NOTIFICATIONS = 1 << 12
_MESSAGE_ID = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class DiscordCards:
    """The cards of one webhook. The timeout is short: an attempt delays the monitor, and cards can wait."""

    webhook: Webhook
    timeout_s: float = 4.0

    def post_card(self, card: Card, at_s: float) -> CardResult:
        """Make one attempt to post a card, which notifies nobody."""
        payload = {"username": USERNAME, **card_payload(card, at_s), "flags": _SUPPRESS_NOTIFICATIONS}
        result = post(self._request(self.webhook.url, payload), self.timeout_s)
        receipt = interpret_response(result).receipt
        if receipt.outcome is not DeliveryOutcome.DELIVERED or not isinstance(result, HttpResponse):
            return CardResult(receipt)
        return CardResult(receipt, _message_id(result.body))

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Make one attempt to replace the content of a posted card."""
        request = self._request(self.webhook.message_url(message_id), card_payload(card, at_s))
        return interpret_response(patch(request, self.timeout_s)).receipt

    def _request(self, url: str, payload: dict[str, Any]) -> HttpRequest:
        return HttpRequest(url, str(self.webhook), json.dumps(payload).encode(), USER_AGENT)


def _message_id(body: bytes) -> str:
    """Return the id of the message in a response; empty if there is none."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    message_id = data.get("id") if isinstance(data, dict) else None
    return message_id if isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id) else ""
