"""The messages about no single job."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.store.home import file_name
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.json_file import encoded
from jobmon_core.system.files import create_exclusive, failure_reason, read_own, remove_file, write_atomically
from jobmon_core.system.json_codec import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jobmon_core.domain.delivery.outbox import Message

_MAX_MESSAGE_BYTES = 4 * 2**20
_MAX_NAME_CHARS = 200  # of the 255 bytes that file systems allow, with room for a temporary name


@dataclass(frozen=True, slots=True)
class MessageStore:
    """The messages in one folder, see `Home.messages`."""

    folder: Path

    def create(self, message: Message, channel: str = "") -> bool:
        """Save a new message, to be sent soon, by default to all its channels; False if its id exists.

        If several processes create the same message at once, on any hosts, one succeeds. So an event that
        several of them notice is reported once if the id follows from the event.
        """
        return create_exclusive(self.path(message.id), encoded(StoredMessage.of(message, channel)))

    def save(self, stored: StoredMessage, check_owner: Callable[[], None] = lambda: None) -> None:
        """Replace the record of a message, as `JobStore.save` does."""
        write_atomically(self.path(stored.id), encoded(stored), check=check_owner)

    def load(self, message_id: str) -> StoredMessage | None:
        """Return the record of a message; None without a readable one."""
        stored = self.read(self.path(message_id))
        if isinstance(stored, StoredMessage):
            return stored
        return None

    def read(self, path: Path) -> StoredMessage | Unreadable | None:
        """Return the record in a file, or why it cannot be read; None if it was removed."""
        try:
            stored = from_json(StoredMessage, json.loads(read_own(path, _MAX_MESSAGE_BYTES)))
        except FileNotFoundError:
            return None
        except OSError as error:
            return Unreadable(path, failure_reason(path, error))
        except (ValueError, RecursionError) as error:  # DecodeError is a ValueError
            return Unreadable(path, f"it is damaged ({error})")
        if not stored.outbox or self.path(stored.id) != path:
            return Unreadable(path, "it is damaged, or was renamed or copied")
        return stored

    def paths(self) -> list[Path]:
        """Return the files of all messages; empty if the folder cannot be read."""
        return sorted(self.folder.glob("*.json"))

    def all(self) -> Iterator[StoredMessage | Unreadable]:
        """Yield the files that cannot be read, then all messages, oldest first."""
        records = [record for path in self.paths() if (record := self.read(path)) is not None]
        stored = [record for record in records if isinstance(record, StoredMessage)]
        yield from (record for record in records if isinstance(record, Unreadable))
        yield from sorted(stored, key=lambda record: (record.message.created_s, record.id))

    def remove(self, message_id: str) -> None:
        """Remove the record of a message, if there is one."""
        remove_file(self.path(message_id))

    def path(self, message_id: str) -> Path:
        """Return the file of a message."""
        name = file_name(message_id)
        if len(name) > _MAX_NAME_CHARS:
            import hashlib  # rarely needed, and a monitor stays small

            name = f"{name[: _MAX_NAME_CHARS - 65]}-{hashlib.sha256(name.encode()).hexdigest()}"
        return self.folder / f"{name}.json"
