"""The send queues of the channels, shared by all monitors of a user on a host."""

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
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Receipt

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SendQueues:
    """The lanes, as files in a folder; a channel is named by what gives nothing of its webhook away.

    A disk that refuses them keeps no message back: then everybody may go at once.
    """

    folder: Path

    def request_turn(self, channel: str, message: Message, now_s: float) -> float | None:
        """Return when to ask again; None where the message may be sent now."""
        again_s: float | None = None
        file = self._file(channel)
        with suppress(StorageFailed), lock(file.lock_path):
            changed, again_s = send_queue.request_turn(file.read(), message, now_s)
            file.write(changed)
        return again_s

    def record_result(self, channel: str, entry: OutboxEntry, receipt: Receipt, now_s: float) -> None:
        """Tell the others what came of an attempt; ``owed`` is what that left to be done."""
        file = self._file(channel)
        with suppress(StorageFailed), lock(file.lock_path):
            file.write(send_queue.record_result(file.read(), entry, receipt, now_s))

    def _file(self, channel: str) -> JsonFile[SendQueue]:
        # each host has its own, as it has its own monitors: locks may not reach further
        path = self.folder / f"{file_name(channel, os.uname().nodename)}.lane"
        return JsonFile(path, SendQueue, _MAX_BYTES, durable=False)
