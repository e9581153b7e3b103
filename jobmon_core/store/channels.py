"""Files that monitors share about a channel, named by the fingerprint of its settings."""

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
    """The queues of a host, one file each; if the disk fails, messages are sent without a queue."""

    folder: Path

    def request_turn(self, fingerprint: str, message: Message, now_s: float) -> float | None:
        """Return when to ask again (Unix seconds); None if the message may be sent now."""
        again_s: float | None = None
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            changed, again_s = send_queue.request_turn(file.read(), message, now_s)
            file.write(changed)
        return again_s

    def record_result(self, fingerprint: str, sent: OutboxEntry, receipt: Receipt, now_s: float) -> None:
        """Record the result of an attempt; ``sent`` is the outbox entry after it."""
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            file.write(send_queue.record_result(file.read(), sent, receipt, now_s))

    def _file(self, fingerprint: str) -> JsonFile[SendQueue]:
        # one queue per host, because locks may not work between hosts
        path = self.folder / f"{file_name(fingerprint, os.uname().nodename)}.lane"
        return JsonFile(path, SendQueue, _MAX_BYTES, durable=False)


@dataclass(frozen=True, slots=True)
class DeadChannels:
    """Marks, one file each, so that no monitor calls a dead channel again: Discord restricts such clients.

    A mark holds until the channel's settings change or until `jobmon test-discord` reaches the channel.
    """

    folder: Path

    def mark_dead(self, fingerprint: str, why: str) -> None:
        """Mark a channel as dead.

        Raises:
            StorageFailed: the disk refused.
        """
        write_atomically(self._path(fingerprint), why.encode("utf-8", "replace"))

    def why(self, fingerprint: str) -> str:
        """Return why a channel is dead; empty if it is not known to be."""
        try:
            return self._path(fingerprint).read_text("utf-8", errors="replace")
        except OSError:
            return ""  # no mark, or an unreadable one: the next attempt finds out

    def clear(self, fingerprint: str) -> None:
        """Remove the mark of a channel."""
        self._path(fingerprint).unlink(missing_ok=True)

    def _path(self, fingerprint: str) -> Path:
        return self.folder / f"{file_name(fingerprint)}.dead"
