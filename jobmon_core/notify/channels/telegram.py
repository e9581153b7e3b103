"""Telegram bots: the JSON of ``sendMessage`` of the Bot API.

Sent without Apprise, whose plug-in sends HTML by default and ignores ``retry_after``. The text has no
``parse_mode``, so that nothing in it is markup; the bold title and the log lines are marked by their
positions (``entities``).

Source: Telegram's documentation, "Bot API" (``sendMessage``: up to 4096 characters; positions count UTF-16
code units), "Making requests" (errors, ``parameters.retry_after``, ``parameters.migrate_to_chat_id``).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.channels import Level
from jobmon_core.notify.http_channel import (
    DEAD,
    TEST_AGAIN,
    HttpChannel,
    JsonRequest,
    Service,
    ServiceError,
    json_object,
    seconds,
)
from jobmon_core.notify.plain_text import PlainText, utf16_size
from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.system.http import HttpResponse

_SERVER = "https://api.telegram.org"
_parse_token = Secret.matching(
    re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{20,100}"),
    "not the token of a bot, as @BotFather shows it: a number, a colon, and letters",
)
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,40}")
_MAX_TEXT = 4000  # of 4096
_MAX_LEAD = 300
_MAX_PLAIN = 1000
_MENTION = re.compile(r"@(?=\w)")
_COMMAND = re.compile(r"(?<![\w/.])/(?=[a-z_]+(?![\w/.]))")


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    token = section.secret("token", _parse_token, required=True)
    chat = section.verbatim("chat", required=True)  # the id of a chat, or the @name of a public channel
    if chat and not _CHAT.fullmatch(chat):
        section.fault("chat", "expected the number of a chat as a string, or the @name of a public channel")
        return None
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(_SERVER)
    if not token or not chat:
        return None
    url = f"{server.url.rstrip('/')}/bot{token.value}/sendMessage"
    return HttpChannel(
        name=f"Telegram (chat {chat})",
        fingerprint=fingerprint(f"telegram {chat}", token.value, server.url),
        receiver=server.host,
        service=TELEGRAM,
        request=partial(_request, url, chat),
        secrets=(token.value,),
    )


def _request(url: str, chat: str, entry: OutboxEntry) -> JsonRequest:
    return JsonRequest(url, {"chat_id": chat, **(plain(entry) if entry.plain else full(entry))})


def plain(entry: OutboxEntry) -> dict[str, Any]:
    """Return the minimal form, for a message whose full form was refused."""
    text = PlainText.of(entry)
    return {"text": _harmless(f"{text.lead(_MAX_LEAD)}\n\n{text.body(_MAX_PLAIN)}".strip())}


def full(entry: OutboxEntry) -> dict[str, Any]:
    """Return the full form: a bold lead, then the text, with its log lines in a fixed-width font."""
    message = PlainText.of(entry)
    title = _harmless(message.lead(_MAX_LEAD))
    text = _harmless(
        message.body(_MAX_TEXT - utf16_size(title) - 2, lambda part: utf16_size(_harmless(part)))
    )
    entities = [{"type": "bold", "offset": 0, "length": utf16_size(title)}]
    whole = title
    if text:
        whole = f"{title}\n\n{text}"
    lines = _harmless(message.log_lines)
    start = 0
    if lines:
        start = whole.find(f"\n{lines}") + 1
    if start:
        entities.append({"type": "pre", "offset": utf16_size(whole[:start]), "length": utf16_size(lines)})
    return {
        "text": whole,
        "entities": entities,
        "link_preview_options": {"is_disabled": True},
        "disable_notification": entry.message.level is Level.PROGRESS,
    }


def _harmless(text: str) -> str:
    """Return ``text`` so that Telegram finds no mention and no command of a bot in it."""
    return _COMMAND.sub("/\u200b", _MENTION.sub("@\u200b", text))


def _read_error(response: HttpResponse) -> ServiceError:
    data = json_object(response)
    parameters = data.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    text = str(data.get("description") or response.body.decode(errors="replace"))
    if "migrate_to_chat_id" in parameters:
        return ServiceError(f"{text}; set chat to {parameters['migrate_to_chat_id']}", DEAD)
    lost = ("chat not found", "bot was blocked", "bot was kicked", "user is deactivated", "not enough rights")
    is_lost = any(words in text.lower() for words in lost)
    return ServiceError(text, DEAD if is_lost else None, seconds(parameters.get("retry_after")))


TELEGRAM = Service(
    "Telegram",
    "Check the token (@BotFather, /mybots) and the chat; the user must have written to the bot once, or the "
    f"bot must be a member of the group. {TEST_AGAIN}",
    _read_error,
)
