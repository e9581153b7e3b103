"""Discord webhooks: posts messages, keeps cards, and checks a webhook.

A card is a silent message about a job that the webhook edits. Every command that reads the configuration
imports this module, so it loads what sends messages only when it is needed.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core import __version__
from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.domain.webhook import Mentions, Webhook

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.card import Card
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.system.http import SendResult

WEBHOOK_VARIABLES = {Route.SUCCESS: "JOBMON_SUCCESS_WEBHOOK", Route.ERROR: "JOBMON_ERROR_WEBHOOK"}
_MENTION = re.compile(r"<@(&?)(\d{1,20})>")
_FORBIDDEN = 403
# as Discord's reference, "User Agent", demands: other agents may be blocked
USER_AGENT = f"DiscordBot (https://github.com/jobmon/jobmon, {__version__})"
_TIMEOUT_S = 10.0
_CARD_TIMEOUT_S = 4.0  # short: an attempt delays the monitor, and cards can wait
_SUPPRESS_NOTIFICATIONS = 1 << 12
_MESSAGE_ID = re.compile(r"[0-9]{1,20}")


class DiscordChannel(NamedTuple):
    """One webhook."""

    webhook: Webhook
    mentions: Mentions = Mentions()
    timeout_s: float = _TIMEOUT_S
    card_timeout_s: float = _CARD_TIMEOUT_S

    @property
    def name(self) -> str:
        """The word "Discord", the webhook's host and the last four digits of its id."""
        return f"Discord ({self.webhook})"

    @property
    def fingerprint(self) -> str:
        """The redacted webhook and a checksum of its URL, because a new token changes only the checksum."""
        return f"{self.webhook} ({zlib.crc32(self.webhook.url.encode()):08x})"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`. If Discord refuses a message with its file, it is sent without it."""
        from jobmon_core.notify.attached import attached_file
        from jobmon_core.notify.discord.payload import full, plain
        from jobmon_core.notify.discord.responses import interpret_response
        from jobmon_core.system.http import HttpResponse

        payload = plain(entry) if entry.plain else full(entry, self.mentions)
        if file := attached_file(entry):
            result = self._post(payload, file)
            attempt = interpret_response(result)
            may_not_attach = isinstance(result, HttpResponse) and result.status == _FORBIDDEN
            if attempt.outcome is not DeliveryOutcome.REFUSED_BODY and not may_not_attach:
                return attempt
        return interpret_response(self._post(payload))

    def _post(self, payload: dict[str, Any], file: tuple[str, bytes] | None = None) -> SendResult:
        body, content_type = json.dumps(payload).encode(), "application/json"
        if file:
            body, content_type = form_body(payload, file)
        return _send("POST", self.webhook, self.webhook.url, body, self.timeout_s, content_type=content_type)

    def post_card(self, card: Card, at_s: float) -> tuple[Receipt, str]:
        """Do as `CardChannel.post_card`."""
        from jobmon_core.notify.discord.payload import USERNAME, card_payload
        from jobmon_core.notify.discord.responses import interpret_response

        payload = {"username": USERNAME, **card_payload(card, at_s), "flags": _SUPPRESS_NOTIFICATIONS}
        body = json.dumps(payload).encode()
        result = _send("POST", self.webhook, self.webhook.url, body, self.card_timeout_s)
        return interpret_response(result), _message_id(result)

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Do as `CardChannel.edit_card`."""
        from jobmon_core.notify.discord.payload import card_payload
        from jobmon_core.notify.discord.responses import interpret_response

        url, body = self.webhook.message_url(message_id), json.dumps(card_payload(card, at_s)).encode()
        return interpret_response(_send("PATCH", self.webhook, url, body, self.card_timeout_s))


def _send(
    method: str,
    webhook: Webhook,
    url: str,
    body: bytes,
    timeout_s: float,
    *,
    content_type: str = "application/json",
) -> SendResult:
    from jobmon_core.system.http import HttpRequest, send

    request = HttpRequest(url, str(webhook), body, USER_AGENT, content_type)
    return send(method, request, timeout_s)


# Source: Discord's API reference, "Uploading Files": ``multipart/form-data`` with the JSON as
# ``payload_json`` and each file as ``files[n]``; up to 10 MiB a file. jobmon attaches far less.
def form_body(payload: dict[str, Any], file: tuple[str, bytes]) -> tuple[bytes, str]:
    """Return the body of a request with a message and its file, and the content type of the body."""
    from jobmon_core.system.http import encode_form

    return encode_form(
        {
            "payload_json": json.dumps(payload),
            "files[0]": (*file, "text/plain; charset=utf-8"),
        }
    )


def _message_id(result: SendResult) -> str:
    message_id = _answer(result).get("id")
    if isinstance(message_id, str) and _MESSAGE_ID.fullmatch(message_id):
        return message_id
    return ""


def _answer(result: SendResult) -> dict[str, object]:
    from jobmon_core.notify.http_channel import json_object
    from jobmon_core.system.http import HttpResponse

    if isinstance(result, HttpResponse) and result.is_success:
        return json_object(result)
    return {}


def check_webhook(webhook: Webhook) -> tuple[Receipt, str]:
    """Ask Discord about a webhook; return the answer, and its name there, which may be empty."""
    from jobmon_core.notify.clean_text import one_line
    from jobmon_core.notify.discord.responses import interpret_response

    result = _send("GET", webhook, webhook.url, b"", _TIMEOUT_S)
    receipt = interpret_response(result)
    if not receipt.is_delivered:
        return receipt, ""
    data = _answer(result)
    if data.get("id") != webhook.id:
        why = "the answer is not from Discord; does this network require a login?"
        return Receipt(DeliveryOutcome.TRY_AGAIN, why), ""
    return receipt, one_line(str(data.get("name") or ""))


def parse(section: Section) -> DiscordChannel | None:
    """Read one named channel; report faults to ``section``."""
    webhook = section.secret("webhook", Webhook.parse, required=True)
    mentions = _mentions(section)
    if webhook:
        return DiscordChannel(webhook, mentions)
    return None


def parse_own_section(section: Section) -> tuple[ConfiguredChannel, ...]:
    """Read the ``discord`` section: one optional channel for each route, named like the route."""
    webhooks = {
        route: section.secret(f"{route}_webhook", Webhook.parse, variable=variable)
        for route, variable in WEBHOOK_VARIABLES.items()
    }
    mentions = _mentions(section)
    return tuple(
        ConfiguredChannel(route.value, "discord", (route,), DiscordChannel(webhook, mentions))
        for route, webhook in webhooks.items()
        if webhook
    )


def _mentions(section: Section) -> Mentions:
    key = "mention_on_failure"
    users: list[str] = []
    roles: list[str] = []
    for text in section.texts(key):
        match = _MENTION.fullmatch(text.strip())
        if match is None:
            section.fault(key, f"expected <@USER_ID> or <@&ROLE_ID>, found {text!r}")
        else:
            (roles if match[1] else users).append(match[2])
    return Mentions(tuple(users), tuple(roles))
