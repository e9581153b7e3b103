"""A topic of an ntfy server, whose name is a password unless the server asks for a token.

Sent without Apprise, which has no rule for the errors of ntfy. The topic is in the body, not in the URL.
On a public server, anyone who knows the topic reads along, so that by default no cause, no log lines and no
paths are sent (`Details.SHORT`).

Source: ntfy's documentation, "Publishing" ("Publish as JSON", priorities 1 to 5, tags that become emojis,
access tokens) and its limits: a message has up to 4096 bytes, a longer one becomes an attachment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Level, Tone
from jobmon_core.notify.http_channel import (
    TEST_AGAIN,
    HttpChannel,
    JsonRequest,
    Service,
    ServiceError,
    json_object,
)
from jobmon_core.notify.plain_text import Details, PlainText, utf8_size
from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint, parse_token

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.system.http import HttpResponse

SERVER = "https://ntfy.sh"
_parse_topic = Secret.matching(
    re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "not a topic: it has 1 to 64 letters, digits, - or _ (without the server)",
)
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


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    topic = section.secret("topic", _parse_topic, required=True)
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(SERVER)
    token = section.secret("token", parse_token)
    details = Details(section.choice("details", tuple(Details), Details.SHORT))
    if topic is None:
        return None
    url, headers, secrets = server.url.rstrip("/"), dict[str, str](), [topic.value]
    if token:
        headers["Authorization"] = f"Bearer {token.value}"
        secrets.append(token.value)

    def request(entry: OutboxEntry) -> JsonRequest:
        return JsonRequest(f"{url}/", {"topic": topic.value, **payload(entry, details)}, headers)

    return HttpChannel(
        name=f"ntfy ({server})",
        fingerprint=fingerprint(f"ntfy {server.host}", topic.value, token.value if token else ""),
        receiver=server.host,
        service=NTFY,
        request=request,
        secrets=tuple(secrets),
        page=f"{url}/{topic.value}",
    )


def payload(entry: OutboxEntry, details: Details) -> dict[str, Any]:
    """Return the message without its topic."""
    tone, text = entry.message.tone, PlainText.of(entry, details)
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
    error = json_object(response).get("error")
    return ServiceError(str(error) if error else response.body.decode(errors="replace"))


NTFY = Service(
    "ntfy",
    f"Check the server, and whether the topic needs a token (`token` in the configuration). {TEST_AGAIN}",
    _read_error,
)
