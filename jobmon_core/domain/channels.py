"""The user's two channels, and whom a message may wake."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Route(StrEnum):
    """Which of the user's two channels a message belongs to."""

    SUCCESS = "success"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Mentions:
    """Whom a failure may wake, as the user configured it: Discord's numeric user and role ids."""

    users: tuple[str, ...] = field(default=())
    roles: tuple[str, ...] = field(default=())
