"""Files that monitors share about a channel, named by the fingerprint of the channel's settings."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.domain.delivery import card, send_queue
from jobmon_core.domain.delivery.card import CardBudget
from jobmon_core.domain.delivery.outbox import lose_track
from jobmon_core.domain.delivery.plan import AlertHistory, MutesAndAcks, plan
from jobmon_core.domain.delivery.send_queue import SendQueue, Turn
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import storage_errors, write_atomically
from jobmon_core.system.lock import has_locks, lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.domain.channels import Receipt
    from jobmon_core.domain.delivery.alert_settings import AlertSettings
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.delivery.plan import Situation
    from jobmon_core.domain.delivery.send_queue import Entry

T = TypeVar("T")

_MAX_BYTES = 16 * 1024 * 1024
_STORAGE_RETRY_S = 600.0


@dataclass(frozen=True, slots=True)
class ChannelFiles:
    """What monitors share about a channel: its queue and its cards on each host, and whether it is dead.

    If the disk fails, messages are sent at once. ``digest_from``: this many ends within a short time are
    reported in one digest; 0 if none are.
    """

    folder: Path

    def can_agree(self, fingerprint: str) -> bool:
        """Whether monitors can agree on who sends a message: only if the file system has locks."""
        try:
            return has_locks(self._file(fingerprint).lock_path)
        except StorageFailed:
            return False

    def request_turn(
        self, fingerprint: str, outgoing: OutboxEntry, now_s: float, digest_from: int = 0
    ) -> Turn:
        """Do as `send_queue.request_turn`."""
        turn = Turn(lose_track(outgoing))
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            queue, decided = send_queue.request_turn(file.read(), outgoing, now_s, digest_from)
            # if the write below fails, another monitor may still take an offer that is in the file
            turn = decided if outgoing.offered_s is None else turn
            file.write(queue)
            turn = decided
        return turn

    def add_offer(self, fingerprint: str, outgoing: OutboxEntry) -> None:
        """Do as `send_queue.add_offer`."""
        self._changed(fingerprint, lambda queue: (send_queue.add_offer(queue, outgoing), None), None)

    def withdraw_offer(self, fingerprint: str, outgoing: OutboxEntry) -> OutboxEntry:
        """Do as `send_queue.withdraw_offer`; if the disk fails, a digest may have the message."""
        # if the queue cannot be written, another monitor may still take the offer
        withdraw = partial(send_queue.withdraw_offer, outgoing=outgoing)
        return self._changed(fingerprint, withdraw, lose_track(outgoing))

    def take_offers(
        self, fingerprint: str, outgoing: OutboxEntry, began_s: float, digest_from: int
    ) -> tuple[Entry, ...]:
        """Do as `send_queue.take_offers`; if the disk fails, the message is sent singly."""
        take = partial(send_queue.take_offers, outgoing=outgoing, began_s=began_s, digest_from=digest_from)
        return self._changed(fingerprint, take, ())

    def record_result(
        self,
        fingerprint: str,
        outgoing: OutboxEntry,
        receipt: Receipt,
        now_s: float,
        *,
        began_s: float = 0.0,
        digest_from: int = 0,
    ) -> None:
        """Do as `send_queue.record_result`."""

        def record(queue: SendQueue) -> tuple[SendQueue, None]:
            after = send_queue.record_result(
                queue, outgoing, receipt, now_s, began_s=began_s, digest_from=digest_from
            )
            return after, None

        self._changed(fingerprint, record, None)

    def _changed(
        self, fingerprint: str, change: Callable[[SendQueue], tuple[SendQueue, T]], otherwise: T
    ) -> T:
        file = self._file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            queue, result = change(file.read())
            file.write(queue)
            return result
        return otherwise

    def request_card_turn(
        self, fingerprint: str, state_id: str, now_s: float, *, is_posted: bool, is_pending: bool
    ) -> tuple[float | None, bool]:
        """Do as `card.request_card_turn`, but never while a message waits."""
        file, budget_file = self._file(fingerprint), self._budget_file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            if (busy_until_s := file.read().busy_until_s(now_s)) is not None:
                return busy_until_s, False
            budget, turn = card.request_card_turn(
                budget_file.read(), state_id, now_s, is_posted=is_posted, is_pending=is_pending
            )
            budget_file.write(budget)
            return turn
        return now_s + _STORAGE_RETRY_S, False

    def record_card_result(
        self, fingerprint: str, state_id: str, receipt: Receipt, now_s: float, *, is_closed: bool
    ) -> None:
        """Do as `card.record_card_result`."""
        file = self._budget_file(fingerprint)
        with suppress(StorageFailed), lock(file.lock_path):
            file.write(card.record_card_result(file.read(), state_id, receipt, now_s, is_closed=is_closed))

    def _file(self, fingerprint: str) -> JsonFile[SendQueue]:
        # one queue per host, because locks may not work between hosts
        path = self.folder / f"{file_name(fingerprint, os.uname().nodename)}.lane"
        return JsonFile(path, SendQueue, _MAX_BYTES, durable=False)

    def _budget_file(self, fingerprint: str) -> JsonFile[CardBudget]:
        """Return the budget of the cards; the lock is that of the queue."""
        path = self.folder / f"{file_name(fingerprint, os.uname().nodename)}.cards"
        return JsonFile(path, CardBudget, durable=False)

    def mark_dead(self, fingerprint: str, why: str) -> None:
        """Mark a channel as one that refuses all messages.

        No monitor sends to it: Discord restricts clients that do. The mark holds until the channel's settings
        change, `jobmon test` or `test-discord` reaches it, or `jobmon replay` sends one of its
        messages.
        """
        write_atomically(self._mark(fingerprint), why.encode("utf-8", "replace"))

    def why_dead(self, fingerprint: str) -> str:
        """Return why a channel refuses all messages; empty if it is not known to do so."""
        try:
            return self._mark(fingerprint).read_text("utf-8", errors="replace")
        except OSError:
            return ""  # no mark, or an unreadable one: the next attempt finds out

    def unmark_dead(self, fingerprint: str) -> None:
        """Remove the mark of a channel, if there is one."""
        path = self._mark(fingerprint)
        # a folder is not a mark: `why_dead` ignores it
        with storage_errors(path, "removed"), suppress(FileNotFoundError, IsADirectoryError):
            path.unlink()

    def _mark(self, fingerprint: str) -> Path:
        return self.folder / f"{file_name(fingerprint)}.dead"


@dataclass(frozen=True, slots=True)
class AlertFiles:
    """The files in one folder, which exists: see `Home.alerts`."""

    folder: Path

    @property
    def _user(self) -> JsonFile[MutesAndAcks]:
        return JsonFile(self.folder / "user.json", MutesAndAcks, _MAX_BYTES)

    def user(self) -> MutesAndAcks:
        """What the user muted and acknowledged; nothing if that cannot be read."""
        return self._user.read()

    def change_user(self, change: Callable[[MutesAndAcks], MutesAndAcks]) -> MutesAndAcks:
        """Change what the user muted and acknowledged; StorageFailed if it cannot be read."""
        file = self._user
        with lock(file.lock_path):
            changed = change(file.read_to_change())
            file.write(changed)
        return changed

    def has_history(self, fingerprint: str) -> bool:
        """Whether messages to a channel were limited before: a later one may have to list them."""
        return self._history_path(fingerprint).exists()

    def _history_path(self, fingerprint: str) -> Path:
        # one file per host, because locks may not work between hosts
        return self.folder / f"{file_name(fingerprint, os.uname().nodename)}.history"

    def admit(
        self, fingerprint: str, entry: OutboxEntry, situation: Situation, settings: AlertSettings
    ) -> OutboxEntry:
        """Do as `plan`, and save its decision; if the disk fails, the message is sent."""
        file = JsonFile(self._history_path(fingerprint), AlertHistory, _MAX_BYTES)
        with suppress(StorageFailed), lock(file.lock_path):
            before = file.read_to_change()
            history, planned = plan(before, entry, situation, settings)
            if history != before:
                file.write(history)
            return planned
        return entry
