"""Check a webhook without posting to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.delivery.outbox import DeliveryOutcome
from jobmon_core.notify.clean_text import one_line
from jobmon_core.notify.discord.channel import USER_AGENT
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.system.http import HttpRequest, HttpResponse, get

if TYPE_CHECKING:
    from jobmon_core.domain.webhook import Webhook

_TIMEOUT_S = 10.0


class WebhookCheck(NamedTuple):
    """The result of a check: the webhook works, Discord refuses it, or neither is certain."""

    name: str  # of the webhook, as set in Discord; may be empty
    why: str = ""  # why it does not work, or could not be checked; empty if it works
    is_refused: bool = False


def check_webhook(webhook: Webhook) -> WebhookCheck:
    """Ask Discord about a webhook; raises no network error."""
    result = get(HttpRequest(webhook.url, str(webhook), b"", USER_AGENT), _TIMEOUT_S)
    receipt = interpret_response(result).receipt
    if receipt.outcome is not DeliveryOutcome.DELIVERED or not isinstance(result, HttpResponse):
        return WebhookCheck("", receipt.why, is_refused=receipt.outcome is DeliveryOutcome.CHANNEL_DEAD)
    try:
        data = json.loads(result.body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("id") != webhook.id:
        return WebhookCheck("", "the answer is not from Discord; does this network require a login?")
    return WebhookCheck(one_line(str(data.get("name") or "")))
