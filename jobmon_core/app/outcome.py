"""What a command found or did, for a caller in Python; a process runs one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobmon_core.domain.errors import JobmonError

ANSWERS: list[object] = []  # the last one counts: a record of `json_codec`
ERRORS: list[JobmonError] = []  # those that were reported


class Watched(NamedTuple):
    """A job that is watched now."""

    job: str  # its id
    state_id: str = ""  # names its state file
