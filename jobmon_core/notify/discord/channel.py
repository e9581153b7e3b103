"""The Discord channel: posts messages to a webhook."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.notify.discord.payload import full, plain
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.notify.http import HttpRequest, post

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.base import AttemptResult
    from jobmon_core.notify.discord.settings import DiscordSettings

# as Discord's reference, "User Agent", demands: other agents may be blocked
USER_AGENT = f"DiscordBot (https://github.com/jobmon/jobmon, {__version__})"


@dataclass(frozen=True, slots=True)
class DiscordChannel:
    """One webhook."""

    settings: DiscordSettings
    timeout_s: float = 10.0

    @property
    def name(self) -> str:
        """The word "Discord", the webhook's host and the last four digits of its id."""
        return f"Discord ({self.settings.webhook})"

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message; in the plain form if Discord refused the full one."""
        webhook = self.settings.webhook
        payload = plain(entry) if entry.plain else full(entry, self.settings.mentions)
        request = HttpRequest(webhook.url, str(webhook), json.dumps(payload).encode(), USER_AGENT)
        return interpret_response(post(request, self.timeout_s))
