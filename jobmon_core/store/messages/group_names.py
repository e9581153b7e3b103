"""The groups that a message is about."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable, UnknownGroup

if TYPE_CHECKING:
    from jobmon_core.store.groups.group_files import GroupStore


def groups_of_job(store: GroupStore, state_id: str) -> tuple[str, ...]:
    """Return the names of the groups that a job is a member of."""
    found: list[str] = []
    for name in store.names():
        with suppress(UnknownGroup, StateUnreadable):  # removed just now; commands about groups report it
            if store.load(name).name_of(state_id):
                found.append(name)
    return tuple(found)


def groups_of_message(store: GroupStore, message_id: str) -> tuple[str, ...]:
    """Return the name of the group that a message is about; empty if it is about a job or about neither."""
    found = [name for name in store.names() if _is_about(message_id, f"group-{name}-")]
    # a message about the group `sweep-1` could be one about a group `sweep` that was created at 1
    return (max(found, key=len),) if found else ()


def _is_about(message_id: str, prefix: str) -> bool:
    """Whether a message id begins with ``prefix`` and a number, as the time when a group was created."""
    created_s = message_id.removeprefix(prefix).partition("-")[0]
    return message_id.startswith(prefix) and created_s.isdecimal()
