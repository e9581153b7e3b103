"""Microsoft Teams: the adaptive card that a workflow posts.

Sent without Apprise, which cuts a message at 1000 characters and ignores ``Retry-After``. Every text is a
``TextRun``, which knows no Markdown and no mentions. The workflow answers 202 before it posts the card: an
error in the workflow itself is only in its run history.

Sources: Microsoft's documentation, "Create incoming webhooks with Workflows" (a message with one attachment
of type ``application/vnd.microsoft.card.adaptive``; up to 28 KB), "Adaptive Cards schema 1.4"
(``RichTextBlock``), "Limits and configuration for Power Automate" (429).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Tone
from jobmon_core.notify.http_channel import TEST_AGAIN, HttpChannel, Service, webhook_channel
from jobmon_core.notify.plain_text import PlainText, fit, utf8_size
from jobmon_core.notify.secret import SecretUrl

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry

_MAX_BYTES = 20_000  # of 28 KB, of which Teams itself takes some
_MAX_LEAD = 300
_MAX_LINES = 30
_MAX_LINE = 300
_MAX_FIELDS = 25
_MAX_FIELD_NAME = 100
_MAX_PLAIN = 4000
_COLOURS = {
    Tone.SUCCESS: "Good",
    Tone.FAILURE: "Attention",
    Tone.CANCELLED: "Default",
    Tone.ATTENTION: "Warning",
    Tone.RESOLVED: "Accent",
}
_LIMITS = (6000, 3000, 1500, 600)  # of the texts and of the log lines, in characters
TEAMS = Service(
    "Teams",
    "In Teams, look at the workflow: it may be off, deleted, or owned by an account that is gone. Make a new "
    'one from the template "Post to a channel when a webhook request is received", and put its URL into the '
    f"configuration. {TEST_AGAIN}",
)


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    return webhook_channel(section, TEAMS, _parse_webhook, full, plain)


def _parse_webhook(text: str) -> SecretUrl:
    url = SecretUrl.parse(text)
    if url.host.endswith("webhook.office.com"):
        raise ValueError(
            "connectors of this kind are retired: in Teams, make a workflow from the template "
            '"Post to a channel when a webhook request is received", and use its URL'
        )
    return url


def plain(entry: OutboxEntry) -> dict[str, Any]:
    """Return the minimal form, for a message whose full form was refused."""
    text = PlainText.of(entry)
    return _message([_text(text.lead(_MAX_LEAD)), *_lines(text.body(_MAX_PLAIN))])


def full(entry: OutboxEntry) -> dict[str, Any]:
    """Return the full form, at the largest limit per text with which it fits."""
    text, message = PlainText.of(entry), dict[str, Any]()
    for limit in _LIMITS:
        message = _message(_blocks(text, limit))
        if utf8_size(json.dumps(message, ensure_ascii=False)) <= _MAX_BYTES:
            break
    return message


def _blocks(text: PlainText, limit: int) -> list[dict[str, Any]]:
    title = _text(text.lead(_MAX_LEAD), size="Medium", weight="Bolder", color=_COLOURS[text.tone])
    lines = fit(text.log_lines, limit).split("\n")[-_MAX_LINES:]
    logs = [
        {**_text(fit(line, _MAX_LINE), fontType="Monospace", size="Small"), "spacing": "None"}
        for line in lines
        if line.strip()
    ]
    fields = [
        {
            "type": "RichTextBlock",
            "spacing": "None",
            "inlines": [
                _run(f"{fit(field.name, _MAX_FIELD_NAME)}: ", weight="Bolder"),
                _run(fit(field.value, limit // 10)),
            ],
        }
        for field in text.fields[:_MAX_FIELDS]
    ]
    return [title, *_lines(fit(text.explanation, limit)), *logs, *fields]


def _message(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": blocks,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _lines(text: str) -> list[dict[str, Any]]:
    return [_text(line) for line in text.split("\n") if line.strip()]


def _text(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [_run(text, **style)]}


def _run(text: str, **style: str) -> dict[str, str]:
    return {"type": "TextRun", "text": text, **style}
