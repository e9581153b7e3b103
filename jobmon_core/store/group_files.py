"""The groups of jobs: one JSON file each, which commands and monitors change in turn."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import Invalid, StateUnreadable, UnknownGroup
from jobmon_core.domain.many.groups.model import Group, checked_name
from jobmon_core.store.json_file import encoded
from jobmon_core.system.files import (
    create_exclusive,
    failure_reason,
    private_folder,
    read_own,
    remove_file,
    write_atomically,
)
from jobmon_core.system.json_codec import from_json
from jobmon_core.system.lock import lock, try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAX_BYTES = 64 * 2**20
_MAX_SHOWN = 10  # names in an error


@dataclass(frozen=True, slots=True)
class GroupStore:
    """The groups in one folder, see `Home.groups`.

    Methods that take a name, except `exists`, raise Invalid if no group can have it; those that read a
    group, UnknownGroup, or StateUnreadable if its file cannot be read, which stays as it is; those that
    write or lock, StorageFailed.
    """

    folder: Path

    def path(self, name: str) -> Path:
        """Return the state file of a group."""
        return self.folder / f"{checked_name(name)}.json"

    def summary_path(self, name: str) -> Path:
        """Return the file that says how the members of a complete group ended."""
        return self.folder / f"{checked_name(name)}.summary"

    def names(self) -> list[str]:
        """Return the names of all groups, sorted; empty if the folder cannot be read."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def exists(self, name: str) -> bool:
        """Whether a group has this name, which may be any text, e.g. a job id."""
        try:
            return self.path(name).exists()
        except Invalid:
            return False

    def load(self, name: str) -> Group:
        """Read a group."""
        path = self.path(name)
        try:
            group = from_json(Group, json.loads(read_own(path, _MAX_BYTES)))
        except FileNotFoundError:
            names = self.names()
            known = ", ".join([*names[:_MAX_SHOWN], *(["..."] if len(names) > _MAX_SHOWN else [])])
            hint = f"the groups are: {known}" if known else "there is no group yet"
            raise UnknownGroup(f"no group is named {name}; {hint}") from None
        except OSError as error:
            raise _unreadable(path, f"cannot be read: {failure_reason(path, error)}") from error
        except (ValueError, RecursionError) as error:  # DecodeError is a ValueError
            raise _unreadable(path, f"is damaged: {error}") from error
        if group.name != name:
            raise _unreadable(path, f"contains the group {group.name}: the file was renamed or copied")
        return group

    def create(self, group: Group) -> bool:
        """Save a new group durably; False, and nothing changes, if one with its name exists."""
        path = self.path(group.name)
        private_folder(self.folder)
        return create_exclusive(path, encoded(group))

    def save(self, group: Group) -> None:
        """Replace a group durably; only its `locked` holder may do so."""
        write_atomically(self.path(group.name), encoded(group))

    @contextmanager
    def locked(self, name: str) -> Iterator[Group]:
        """Wait for the lock of a group and hold it for the ``with`` block; yield the group."""
        self.load(name)  # else the lock of a group that does not exist would be created
        with lock(self._lock_path(name)):
            yield self.load(name)

    @contextmanager
    def locked_if_free(self, name: str) -> Iterator[Group | None]:
        """Like `locked`, but yield None at once if another process holds the lock."""
        with try_lock(self._lock_path(name)) as is_acquired:
            yield self.load(name) if is_acquired else None

    def remove(self, name: str) -> None:
        """Forget a group; its jobs and its log remain."""
        with self.locked(name):
            for path in (self.path(name), self.summary_path(name), self._lock_path(name)):
                remove_file(path)

    def _lock_path(self, name: str) -> Path:
        return self.folder / f"{checked_name(name)}.lock"


def _unreadable(path: Path, problem: str) -> StateUnreadable:
    return StateUnreadable(f"{path} {problem}; move it away, then create the group again")


def groups_of_job(store: GroupStore, state_id: str) -> tuple[str, ...]:
    """Return the names of the groups that a job is a member of."""
    found: list[str] = []
    for name in store.names():
        with suppress(UnknownGroup, StateUnreadable):  # removed just now; commands about groups report it
            if store.load(name).name_of(state_id):
                found.append(name)
    return tuple(found)


def groups_of_message(store: GroupStore, message_id: str) -> tuple[str, ...]:
    """Return the name of the group that a message is about; empty if it is about none."""
    found = [name for name in store.names() if _is_about(message_id, f"group-{name}-")]
    # a message about the group `sweep-1` could be one about a group `sweep` that was created at 1
    return (max(found, key=len),) if found else ()


def _is_about(message_id: str, prefix: str) -> bool:
    # the prefix, and when the group was created
    created_s = message_id.removeprefix(prefix).partition("-")[0]
    return message_id.startswith(prefix) and created_s.isdecimal()
