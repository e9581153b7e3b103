"""The lanes of the channels, shared by all monitors of a user on a host."""

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

_AT_MOST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SendQueues:
    """The lanes, as files in a folder; a channel is named by what gives nothing of its webhook away.

    A disk that refuses them keeps no message back: then everybody may go at once.
    """

    folder: Path

    def request_turn(self, channel: str, message: Message, now_s: float) -> float | None:
        """Return when to ask again; None where the message may be sent now."""
        again_s: float | None = None
        path = self._path(channel)
        with suppress(StorageFailed), lock(path.with_suffix(".lock")):
            changed, again_s = send_queue.request_turn(_read(path), message, now_s)
            _write(path, changed)
        return again_s

    def record_result(self, channel: str, entry: OutboxEntry, receipt: Receipt, now_s: float) -> None:
        """Tell the others what came of an attempt; ``owed`` is what that left to be done."""
        path = self._path(channel)
        with suppress(StorageFailed), lock(path.with_suffix(".lock")):
            _write(path, send_queue.record_result(_read(path), entry, receipt, now_s))

    def _path(self, channel: str) -> Path:
        # every host has its own, as it has its own monitors: locks may not reach further
        return self.folder / f"{file_name(channel, os.uname().nodename)}.lane"


def _read(path: Path) -> SendQueue:
    try:
        return from_json(SendQueue, json.loads(read_own(path, _AT_MOST)))
    except (OSError, ValueError, RecursionError, DecodeError):
        return SendQueue()  # nobody waits, as far as one can tell


def _write(path: Path, changed: SendQueue) -> None:
    write_atomically(path, json.dumps(to_json(changed)).encode(), durable=False)
