"""The settings of a Telegram channel: the token of a bot, and the chat that it writes to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

SERVER = "https://api.telegram.org"
_parse_token = Secret.matching(
    re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{20,100}"),
    "not the token of a bot, as @BotFather shows it: a number, a colon, and letters",
)
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,40}")


class TelegramSettings(NamedTuple):
    """The settings of one Telegram channel."""

    token: Secret
    chat: str  # the id of a chat, or the @name of a public channel
    server: SecretUrl = SecretUrl(SERVER)

    @property
    def fingerprint(self) -> str:
        """The chat and a checksum of the token and the server."""
        return fingerprint(f"telegram {self.chat}", self.token.value, self.server.url)


def parse_channel(section: Section) -> TelegramSettings | None:
    """Read one channel; report faults to ``section``, and return None if the token or the chat has one."""
    token = section.secret("token", _parse_token, required=True)
    chat = section.verbatim("chat", required=True)
    if chat and not _CHAT.fullmatch(chat):
        section.fault("chat", "expected the number of a chat as a string, or the @name of a public channel")
        return None
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(SERVER)
    return TelegramSettings(token, chat, server) if token and chat else None
