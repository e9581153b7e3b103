"""The send queues of all channels, shared by the monitors of a user on a host."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery import send_queue
from jobmon_core.domain.delivery.send_queue import SendQueue
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import file_name
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Receipt

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SendQueues:
    """The queues, one file each, named by the fingerprint of the channel's settings.

    If the disk fails, messages are sent without a queue rather than held back.
    """

    folder: Path

    def request_turn(self, fingerprint: str, message: Message, now_s: float) -> float | None:
        """Return when to ask again (Unix seconds); None if the message may be sent now."""
        again_s: float | None = None
        path = self._path(fingerprint)
        with suppress(StorageFailed), lock(path.with_suffix(".lock")):
            queue, again_s = send_queue.request_turn(_read(path), message, now_s)
            _write(path, queue)
        return again_s

    def record_result(self, fingerprint: str, sent: OutboxEntry, receipt: Receipt, now_s: float) -> None:
        """Record the result of an attempt; ``sent`` is the outbox entry after it."""
        path = self._path(fingerprint)
        with suppress(StorageFailed), lock(path.with_suffix(".lock")):
            _write(path, send_queue.record_result(_read(path), sent, receipt, now_s))

    def _path(self, fingerprint: str) -> Path:
        # one queue per host, because locks may not work between hosts
        return self.folder / f"{file_name(fingerprint, os.uname().nodename)}.lane"


def _read(path: Path) -> SendQueue:
    try:
        return from_json(SendQueue, json.loads(read_own(path, _MAX_BYTES)))
    except (OSError, ValueError, RecursionError, DecodeError):
        return SendQueue()  # missing or damaged


def _write(path: Path, queue: SendQueue) -> None:
    write_atomically(path, json.dumps(to_json(queue)).encode(), durable=False)
