"""What Discord's "execute webhook" takes: the JSON as types, and its limits.

The limits are counted in code points, as Discord's staff say it counts; one claim of UTF-16 stands
against it, and some clients have seen counts a little off: jobmon stays about 2 % below each.
Source: Discord's API reference, "Embed Limits" and "Execute Webhook".
"""

from __future__ import annotations

from typing import Required, TypedDict


class EmbedField(TypedDict):
    """One named value of an embed; neither may be empty."""

    name: str
    value: str
    inline: bool


class Footer(TypedDict):
    """The last line of an embed: plain text."""

    text: str


class Embed(TypedDict, total=False):
    """The framed part of a message."""

    title: Required[str]
    color: Required[int]
    description: str
    fields: list[EmbedField]
    footer: Footer
    timestamp: str  # ISO 8601 with an offset


class AllowedMentions(TypedDict, total=False):
    """Who may be woken: an empty ``parse`` means nobody but those listed."""

    parse: Required[list[str]]
    users: list[str]
    roles: list[str]


class Payload(TypedDict, total=False):
    """The body of a request."""

    username: Required[str]
    allowed_mentions: Required[AllowedMentions]
    content: str
    embeds: list[Embed]


CONTENT = 1960  # of 2000
TITLE = 250  # of 256
DESCRIPTION = 4000  # of 4096
FIELDS = 25
FIELD_NAME = 250  # of 256
FIELD_VALUE = 1000  # of 1024
TOTAL = 5880  # of 6000: title, description, names, values and footer together; content is not counted
MENTIONS = 100  # users, and roles
