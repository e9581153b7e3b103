"""The Discord channel: posts messages to a webhook."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.notify.base import HttpRequest
from jobmon_core.notify.discord import payload as discord_payload
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.notify.discord.settings import Mentions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.webhook import Webhook
    from jobmon_core.notify.base import Answer, Post, ResponseAdvice
    from jobmon_core.notify.discord.limits import Payload

_TIMEOUT_S = 10.0
_PROJECT = "https://github.com/jobmon/jobmon"


@dataclass(frozen=True, slots=True)
class DiscordChannel:
    """One webhook; ``send`` sends the requests, ``version`` is that of jobmon."""

    webhook: Webhook
    send: Post
    version: str
    mentions: Mentions = field(default_factory=Mentions)
    timeout_s: float = _TIMEOUT_S

    @property
    def name(self) -> str:
        """Discord, the host and the last digits of the webhook's id."""
        return f"Discord ({self.webhook})"

    def payload(self, entry: OutboxEntry) -> Payload:
        """Return the message as Discord's JSON; in the plain form if Discord refused the full one."""
        return discord_payload.plain(entry) if entry.plain else discord_payload.full(entry, self.mentions)

    def post(self, payload: Mapping[str, object]) -> Answer:
        """Send a payload once.

        The user agent has the form that Discord asks for: Discord blocks some that only name a library.
        """
        return self.send(
            HttpRequest(
                url=self.webhook.url,
                receiver=str(self.webhook),
                body=json.dumps(payload).encode(),
                user_agent=f"DiscordBot ({_PROJECT}, {self.version})",
            ),
            self.timeout_s,
        )

    def interpret(self, answer: Answer) -> ResponseAdvice:
        """Return what Discord's answer means, and what the user can do about it."""
        return interpret_response(answer)
