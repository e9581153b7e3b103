"""Turns a message into the JSON that an ntfy server publishes.

Sent without Apprise, which has no rule for the errors of ntfy. The topic is in the body, not in the URL.
On a public server, anyone who knows the topic reads along, so that by default no cause, no log lines and no
paths are sent (`Details.SHORT`).

Source: ntfy's documentation, "Publishing" ("Publish as JSON", priorities 1 to 5, tags that become emojis,
access tokens) and its limits: a message has up to 4096 bytes, a longer one becomes an attachment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.outbox import Tone
from jobmon_core.notify.http_channel import (
    TEST_AGAIN,
    HttpChannel,
    JsonRequest,
    Service,
    ServiceError,
    json_object,
)
from jobmon_core.notify.plain_text import PlainText, utf8_size

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.ntfy.settings import NtfySettings
    from jobmon_core.system.http import HttpResponse

_MAX_MESSAGE = 3800  # bytes; ntfy allows 4096
_MAX_TITLE = 240  # bytes
_PRIORITIES = {Level.CRITICAL: 5, Level.WARNING: 4, Level.INFO: 3, Level.PROGRESS: 2}
_TAGS = {
    Tone.SUCCESS: "white_check_mark",
    Tone.FAILURE: "x",
    Tone.CANCELLED: "stop_button",
    Tone.ATTENTION: "warning",
    Tone.RESOLVED: "large_blue_circle",
}


def build(settings: NtfySettings) -> HttpChannel:
    """Return the channel of a topic."""
    secrets = (settings.topic.value, *((settings.token.value,) if settings.token else ()))
    name = f"ntfy ({settings.server})"
    return HttpChannel(name, settings.server.host, NTFY, lambda entry: _request(settings, entry), secrets)


def _request(settings: NtfySettings, entry: OutboxEntry) -> JsonRequest:
    headers = {"Authorization": f"Bearer {settings.token.value}"} if settings.token else {}
    url = f"{settings.server.url.rstrip('/')}/"
    return JsonRequest(url, {"topic": settings.topic.value, **payload(entry, settings)}, headers)


def payload(entry: OutboxEntry, settings: NtfySettings) -> dict[str, Any]:
    """Return the message without its topic."""
    tone, text = entry.message.tone, PlainText.of(entry, settings.details)
    title = text.fitted_title(_MAX_TITLE, utf8_size)
    if entry.plain:
        return {"title": title, "message": title}
    return {
        "title": title,
        # an empty message would become the word "triggered"
        "message": text.body(_MAX_MESSAGE, utf8_size) or title,
        "priority": _PRIORITIES[entry.message.level],
        "tags": [_TAGS[tone]],
    }


def _read_error(response: HttpResponse) -> ServiceError:
    """Read an error, e.g. ``{"code": 42901, "http": 429, "error": "limit reached: too many requests"}``."""
    error = json_object(response).get("error")
    return ServiceError(str(error) if error else response.body.decode(errors="replace"))


NTFY = Service(
    "ntfy",
    f"Check the server, and whether the topic needs a token (`token` in the configuration). {TEST_AGAIN}",
    _read_error,
)
