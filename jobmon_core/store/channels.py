"""Files that monitors share about a channel, named by the fingerprint of the channel's settings."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery import send_queue
from jobmon_core.domain.delivery.send_queue import SendQueue
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import write_atomically
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Receipt

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SendQueues:
    """The queues of messages, one file per channel and host; if the disk fails, there is no queueing."""

    folder: Path

    def request_turn(self, fingerprint: str, message: Message, now_s: float) -> float | None:
        """Queue a message; return when to ask again (Unix seconds), or None if it may be sent now."""
        again_s: float | None = None
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            changed, again_s = send_queue.request_turn(file.read(), message, now_s)
            file.write(changed)
        return again_s

    def record_result(self, fingerprint: str, sent: OutboxEntry, receipt: Receipt, now_s: float) -> None:
        """Record the result of an attempt to send; ``sent`` is the outbox entry after the attempt."""
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            file.write(send_queue.record_result(file.read(), sent, receipt, now_s))

    def _file(self, fingerprint: str) -> JsonFile[SendQueue]:
        # one queue per host, because locks may not work between hosts
        path = self.folder / f"{file_name(fingerprint, os.uname().nodename)}.lane"
        return JsonFile(path, SendQueue, _MAX_BYTES, durable=False)


@dataclass(frozen=True, slots=True)
class DeadChannels:
    """Marks channels that refuse all messages. No monitor calls them: Discord restricts clients that do.

    A mark holds until the channel's settings change or until `jobmon test-discord` reaches the channel.
    """

    folder: Path

    def mark_dead(self, fingerprint: str, why: str) -> None:
        """Mark a channel as dead.

        Raises:
            StorageFailed: the file cannot be written.
        """
        write_atomically(self._path(fingerprint), why.encode("utf-8", "replace"))

    def why(self, fingerprint: str) -> str:
        """Return why a channel is dead; empty if it is not known to be."""
        try:
            return self._path(fingerprint).read_text("utf-8", errors="replace")
        except OSError:
            return ""  # no mark, or an unreadable one: the next attempt finds out

    def clear(self, fingerprint: str) -> None:
        """Remove the mark of a channel, if there is one."""
        with suppress(FileNotFoundError, IsADirectoryError):  # a folder is not a mark: `why` ignores it
            self._path(fingerprint).unlink()

    def _path(self, fingerprint: str) -> Path:
        return self.folder / f"{file_name(fingerprint)}.dead"
