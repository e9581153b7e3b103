"""Sends the messages about no single job.

Every process that can send them tries: the command that made the message, all monitors, and a process that
such a command starts if it could not send the message itself. One process sends at a time, on all hosts: it
owns the messages as a monitor owns a job, but only while it sends, so that a host without a network delays
the others only briefly.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.outbox import KEPT_S, StoredMessage, delivery_status
from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.owner import acquire_job
from jobmon_core.system.clock import Wake
from jobmon_core.system.files import file_stamp, settled
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.monitor.outbox import Outbox
    from jobmon_core.store.message_files import MessageStore
    from jobmon_core.system.files import Stamp

MESSAGES = "messages"  # the name of the lock, the owner record and the log, where a job has its state id
_BUSY_S = 5.0  # between two looks while another process sends
_RETRY_S = 30.0  # after the disk was full
_PAUSE_S = 1.0
_LOOK_S = 60.0  # between two looks at the folder; a wait is never longer
_SEND_S = 30.0  # then a monitor looks at its jobs again


@dataclass(slots=True)
class MessageSender:
    """Sends the messages of a home. It reads them again only if their folder changed or one is due."""

    ctx: Context
    _store: MessageStore = field(init=False)
    _folder_stamp: Stamp | None = field(default=None, init=False)  # None: look again
    # file name -> the stamp of a file that holds no open message
    _closed: dict[str, Stamp] = field(default_factory=dict, init=False)
    _due_s: float | None = field(default=None, init=False)  # when to send next (Unix seconds)
    # file name -> a newer record than the file's, which could not be saved, and the stamp of the file
    _unsaved: dict[str, tuple[Stamp, StoredMessage]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Begin without any I/O but that of creating the folder."""
        self._store = self.ctx.messages

    def send_due(self) -> float | None:
        """Try to send each message that is due; return when the next is due (Unix seconds).

        None if no message is open. It returns early if there are many.
        """
        now_s = self.ctx.clock.now()
        if self._has_changed(now_s):
            self._due_s = min((stored.due_s or 0.0 for stored in self._open()), default=None)
        if self._due_s is not None and self._due_s <= now_s:
            self._due_s = self._send()
            self._folder_stamp = None
        return self._due_s

    def _has_changed(self, now_s: float) -> bool:
        stamp = file_stamp(self._store.folder)
        if stamp is not None and stamp == self._folder_stamp:
            return False
        self._folder_stamp = settled(stamp, now_s)
        return True

    def _open(self) -> list[StoredMessage]:
        """Return the messages that are still to be sent, oldest first; skip unchanged files without one."""
        found: list[StoredMessage] = []
        for path in self._store.paths():
            stamp = file_stamp(path)
            if stamp is None or self._closed.get(path.name) == stamp:
                continue
            stored = self._store.read(path)
            unsaved = self._unsaved.get(path.name)
            if unsaved and unsaved[0] == stamp:
                stored = unsaved[1]
            if isinstance(stored, StoredMessage) and stored.is_open:
                found.append(stored)
            else:
                self._closed[path.name] = stamp  # `jobmon status` reports one that cannot be read
        return sorted(found, key=lambda stored: (stored.message.created_s, stored.id))

    def _send(self) -> float | None:
        """Send what is due as the owner of the messages; return when the next is due."""
        from jobmon_core.monitor.outbox import new_outbox  # needed only for sending

        clock = self.ctx.clock
        try:
            with _owned(self.ctx) as lock:
                outbox = new_outbox(self.ctx, (*self.ctx.locks, lock), self._check_owner)
                began_s = clock.now()
                due_s: list[float] = []
                for stored in self._open():
                    after = stored
                    if clock.now() - began_s < _SEND_S:
                        after = self._attempt(stored, outbox)
                    if after.due_s is not None:
                        due_s.append(after.due_s)
                self._remove_outdated()
        except AlreadyWatched:
            return clock.now() + _BUSY_S
        return min(due_s, default=None)

    def _attempt(self, stored: StoredMessage, outbox: Outbox) -> StoredMessage:
        """Make one attempt for each entry that is due; return the record, saved if that is possible."""
        for entry in stored.due(self.ctx.clock.now()):
            self._check_owner()
            try:
                after = outbox.deliver(entry, partial(self._save_attempt, stored, entry.key))
            except StorageFailed as error:
                after = (replace(entry, next_try_s=self.ctx.clock.now() + _RETRY_S, problem=str(error)),)
            stored = stored.with_entries(entry.key, after)
            self._save(stored)
            for each in after:
                self._log(f"message {stored.id} {delivery_status(entry, each)}")
        return stored

    def _save_attempt(self, stored: StoredMessage, key: tuple[str, str], attempt: OutboxEntry) -> None:
        self._store.save(stored.with_entries(key, (attempt,)), self._check_owner)

    def _check_owner(self) -> None:
        if not self.ctx.owner_record(MESSAGES).heartbeat():
            raise AlreadyWatched("another process may have sent the messages meanwhile")

    def _save(self, stored: StoredMessage) -> None:
        """Save the record after an attempt; if that fails, keep it while its file stays the same."""
        path = self._store.path(stored.id)
        self._unsaved.pop(path.name, None)
        try:
            self._store.save(stored, self._check_owner)
        except StorageFailed as error:
            self._log(f"message {stored.id}: {error}")
            # its file says at most that an attempt began: another process would send it again, as a repeat
            if stamp := file_stamp(path):
                self._unsaved[path.name] = stamp, stored

    def _remove_outdated(self) -> None:
        now_s = self.ctx.clock.now()
        for path in self._store.paths():
            stamp = file_stamp(path)
            if stamp and now_s - stamp.modified_s > KEPT_S:
                stored = self._store.read(path)
                if isinstance(stored, StoredMessage) and stored.is_outdated(now_s):
                    self._store.remove(stored.id)

    def _log(self, event: str) -> None:
        self.ctx.monitor_log(MESSAGES).write(event)


@contextmanager
def _owned(ctx: Context) -> Iterator[int]:
    """Own the messages for the ``with`` block; yield the descriptor of their lock."""
    lock = acquire_job(ctx.home.lock_file(MESSAGES))
    try:
        yield lock
    finally:
        ctx.owner_record(MESSAGES).remove()
        os.close(lock)


def keep_sending(ctx: Context, sender: MessageSender) -> None:
    """Send until no message is open, SIGTERM arrives or the user removes the home.

    Returns at once if another process on this host does so already.
    """
    with try_lock(ctx.home.monitors / f"{MESSAGES}.sender.lock") as is_acquired:
        while is_acquired and not ctx.home.was_removed():
            now_s = ctx.clock.now()
            try:
                due_s = sender.send_due()
            except StorageFailed:  # e.g. the disk is full
                due_s = now_s + _RETRY_S
            if due_s is None:
                return
            if ctx.clock.wait(max(_PAUSE_S, min(due_s - ctx.clock.now(), _LOOK_S))) is Wake.TERMINATE:
                return
