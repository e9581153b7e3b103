"""Slack's incoming webhooks.

Sent without Apprise, whose plug-in ignores ``Retry-After`` and reads no error of Slack. Texts of users and of
logs are ``plain_text`` objects or escaped, so that they cannot mention anyone.

Sources: Slack's documentation, "Sending messages using incoming webhooks" (form and errors), "Formatting text
for app surfaces" (escapes, dates), "Block Kit" (a section has up to 3000 characters, a field 2000, a section
10 fields), "Rate limits" (one message a second, 429 with ``Retry-After``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Tone
from jobmon_core.notify.http_channel import (
    DEAD,
    REFUSED,
    TEST_AGAIN,
    HttpChannel,
    Service,
    ServiceError,
    webhook_channel,
)
from jobmon_core.notify.plain_text import PlainText, fit
from jobmon_core.notify.secret import SecretUrl

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import Field, OutboxEntry
    from jobmon_core.system.http import HttpResponse

_MAX_LEAD = 300
_MAX_PLAIN = 3500  # with the lead within the 4000 characters that Slack recommends at most
_MAX_SECTION = 2900  # of 3000
_MAX_FIELD = 500
_MAX_FIELDS = 10
_MAX_FIELD_NAME = 100
_FENCE_COST = 8
_COLOURS = {
    Tone.SUCCESS: "#2ecc71",
    Tone.FAILURE: "#e74c3c",
    Tone.CANCELLED: "#95a5a6",
    Tone.ATTENTION: "#f39c12",
    Tone.RESOLVED: "#3498db",
}
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ADJACENT = re.compile("(?<=`)(?=`)")
_DEAD_WORDS = {
    "action_prohibited",
    "channel_is_archived",
    "channel_not_found",
    "invalid_token",
    "no_active_hooks",
    "no_service",
    "no_service_id",
    "no_team",
    "posting_to_general_channel_denied",
    "team_disabled",
    "user_not_found",
}
_REFUSED_WORDS = {
    "invalid_attachments",
    "invalid_blocks",
    "invalid_payload",
    "no_text",
    "too_many_attachments",
}


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    return webhook_channel(section, SLACK, _parse_webhook, full, plain)


def _parse_webhook(text: str) -> SecretUrl:
    url = SecretUrl.parse(text)
    if url.host.endswith(("discord.com", "discordapp.com")):
        raise ValueError('this is a webhook of Discord: set "type": "discord"')
    return url


def plain(entry: OutboxEntry) -> dict[str, Any]:
    """Return the minimal form, for a message whose full form was refused."""
    text = PlainText.of(entry)
    shown = f"{text.lead(_MAX_LEAD, _escaped_size)}\n{text.body(_MAX_PLAIN, _escaped_size)}"
    return {"text": _escaped(shown)}


def full(entry: OutboxEntry) -> dict[str, Any]:
    """Return the full form: the lead as text, and the rest in blocks beside a coloured bar."""
    text = PlainText.of(entry)
    blocks: list[dict[str, Any]] = []
    if text.explanation:
        shown = fit(text.explanation, _MAX_SECTION)
        blocks.append({"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}})
    if text.log_lines:
        fenced = f"```\n{_fenced(text.log_lines, _MAX_SECTION - _FENCE_COST)}\n```"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": fenced}})
    if text.fields:
        blocks.append({"type": "section", "fields": [_field(field) for field in text.fields[:_MAX_FIELDS]]})
    first = {"text": _escaped(text.lead(_MAX_LEAD, _escaped_size))}
    if blocks:
        return {**first, "attachments": [{"color": _COLOURS[text.tone], "blocks": blocks}]}
    return first


def _field(field: Field) -> dict[str, Any]:
    """Return a field; Slack shows a time in the reader's own time zone."""
    name = fit(field.name, _MAX_FIELD_NAME)
    if field.at_s is None:
        return {"type": "plain_text", "text": f"{name}\n{fit(field.value, _MAX_FIELD)}", "emoji": False}
    time = f"<!date^{field.at_s}^{{date_short_pretty}} {{time}}|{_escaped(field.value)}>"
    return {"type": "mrkdwn", "text": f"{_escaped(name)}\n{time}"}


def _fenced(text: str, limit: int) -> str:
    return fit(_ADJACENT.sub("\u200b", text), limit, _escaped_size).translate(_ESCAPES)


def _escaped(text: str) -> str:
    """Return ``text`` without what Slack takes for a mention, a link or a date."""
    return text.translate(_ESCAPES)


def _escaped_size(text: str) -> int:
    return len(_escaped(text))


def _read_error(response: HttpResponse) -> ServiceError:
    text = response.body.decode(errors="replace")
    words = set(re.findall(r"[a-z_]{4,40}", text[:200]))
    if words & _DEAD_WORDS:
        return ServiceError(text, DEAD)
    return ServiceError(text, REFUSED if words & _REFUSED_WORDS else None)


SLACK = Service(
    "Slack",
    f"Create a new webhook (api.slack.com/apps, your app, Incoming Webhooks), put its URL into the "
    f"configuration. {TEST_AGAIN}",
    _read_error,
)
