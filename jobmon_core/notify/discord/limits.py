"""The JSON of Discord's "execute webhook" as types, and its limits.

Limits count code points, as Discord's staff documented. There is one claim that Discord counts UTF-16
units, and some clients saw slightly different counts, so jobmon stays about 2 % below each limit.
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
    """Who may be notified: with an empty ``parse``, only the listed ids."""

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
TOTAL = 5880  # of 6000: title, description, names, values and footer together, without content
MENTIONS = 100  # users, and roles
