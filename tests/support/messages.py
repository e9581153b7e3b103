"""Messages as the user sees them."""

from __future__ import annotations

import re

from jobmon.views.console import Console
from jobmon.views.discord_preview import discord_preview
from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import End, WatchedJob
from tests.support.fake_discord import Payload
from tests.support.user import User

_NO_WRAP = 10_000


def only(user: User, route: Route) -> Payload:
    """Return the only message that the user got, which must be on this channel."""
    received = [(where, payload["content"]) for where in Route for payload in user.discord.received(where)]
    assert [where for where, _ in received] == [route], received
    return user.discord.received(route)[0]


def message_about(user: User, job_id: int) -> Payload:
    """Return the only message about a job, which must be one about an error."""
    (payload,) = (each for each in user.discord.received() if f"({job_id})" in title(each))
    assert payload in user.discord.received(Route.ERROR)
    return payload


def read(payload: Payload) -> str:
    """Return a message as Discord shows it, without markup and line wrapping."""
    return discord_preview(payload, 0, Console(_NO_WRAP))


def title(payload: Payload) -> str:
    """Return the first line of a message as Discord shows it, without mentions and without the run time."""
    lead = re.sub(r"(?: <@&?\d+>)+$", "", str(payload["content"]).partition("\n")[0])
    return re.sub(r" (?:in|after) \d+[smhd](?: \d+[smhd])?(?=:|,|$| with)", "", _plain(lead)).replace(
        "\ufe0f", ""
    )


def facts(payload: Payload) -> dict[str, str]:
    """Return the fields of a message as Discord shows them, except for times."""
    fields = payload["embeds"][0].get("fields", [])
    return {_plain(field["name"]): _plain(field["value"]) for field in fields}


def _plain(text: str) -> str:
    """Return text without the backslashes that escape markup."""
    return re.sub(r"\\([^A-Za-z0-9\s])", r"\1", text)


def end_of(job: WatchedJob, key: str = "") -> End:
    """Return how a task of a job ended; it must have ended."""
    end = job.tasks[key].end
    assert end is not None, job.tasks[key]
    return end
