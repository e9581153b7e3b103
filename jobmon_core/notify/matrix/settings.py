"""The settings of a Matrix channel: a room, and the access token of a user in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint, parse_token

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

_ROOM = re.compile(r"![^\s/?#]{1,250}")


class MatrixSettings(NamedTuple):
    """The settings of one Matrix channel."""

    server: SecretUrl
    room: str
    token: Secret

    @property
    def fingerprint(self) -> str:
        """The server, the room and a checksum of the token."""
        return fingerprint(f"matrix {self.server.host} {self.room}", self.token.value)


def parse_channel(section: Section) -> MatrixSettings | None:
    """Read one channel; report faults to ``section``, and return None if there is one."""
    server = section.parsed("server", SecretUrl.parse, required=True)
    room = section.verbatim("room", required=True)
    if room and not _ROOM.fullmatch(room):
        section.fault(
            "room", "expected the internal id of a room, which starts with ! (room settings, Advanced)"
        )
        room = ""
    token = section.secret("token", parse_token, required=True)
    return MatrixSettings(server, room, token) if server and room and token else None
