"""The Discord channel: a webhook that messages are posted to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import Mentions
from jobmon_core.notify.base import HttpRequest
from jobmon_core.notify.discord import payload as discord_payload
from jobmon_core.notify.discord.responses import receipt_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt
    from jobmon_core.domain.webhook import Webhook
    from jobmon_core.notify.base import Answer, Post
    from jobmon_core.notify.discord.limits import Payload

_TIMEOUT_S = 10.0
_PROJECT = "https://github.com/jobmon/jobmon"


@dataclass(frozen=True, slots=True)
class DiscordChannel:
    """One webhook; ``send`` is how a request goes out, ``version`` that of jobmon."""

    webhook: Webhook
    send: Post
    version: str
    mentions: Mentions = field(default_factory=Mentions)
    timeout_s: float = _TIMEOUT_S

    @property
    def name(self) -> str:
        """Discord, the host and the end of the webhook's id."""
        return f"Discord ({self.webhook})"

    def payload(self, entry: OutboxEntry) -> Payload:
        """Return what is owed as Discord's JSON; in the plain form where the full one was refused."""
        return discord_payload.plain(entry) if entry.plain else discord_payload.full(entry, self.mentions)

    def receipt(self, answer: Answer) -> Receipt:
        """Judge what came of a post."""
        return receipt_for(answer)

    def post(self, payload: Mapping[str, object]) -> Answer:
        """Send a payload, once.

        The user agent has the form that Discord asks for: it shuts out some that name a mere library.
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
