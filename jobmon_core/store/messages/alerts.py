"""What the user muted and acknowledged, and what each channel got lately."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.plan import AlertHistory, MutesAndAcks, plan
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.domain.delivery.alert_settings import AlertSettings
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.domain.delivery.plan import Situation

_MAX_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AlertFiles:
    """The files in one folder, see `Home.alerts`; it is not created here."""

    folder: Path

    @property
    def _user(self) -> JsonFile[MutesAndAcks]:
        return JsonFile(self.folder / "user.json", MutesAndAcks, _MAX_BYTES)

    def user(self) -> MutesAndAcks:
        """Return what the user muted and acknowledged; nothing if that cannot be read."""
        return self._user.read()

    def change_user(self, change: Callable[[MutesAndAcks], MutesAndAcks]) -> MutesAndAcks:
        """Apply a change to what the user muted and acknowledged; return the result.

        Raises:
            StorageFailed: the file cannot be read or written.
        """
        file = self._user
        with lock(file.lock_path):
            changed = change(file.read_to_change())
            file.write(changed)
        return changed

    def has_history(self, fingerprint: str) -> bool:
        """Whether messages to a channel were limited before: a later message may have to list them."""
        return self._history_path(fingerprint).exists()

    def _history_path(self, fingerprint: str) -> Path:
        # one file per host, because locks may not work between hosts
        return self.folder / f"{file_name(fingerprint, os.uname().nodename)}.history"

    def admit(
        self, fingerprint: str, entry: OutboxEntry, situation: Situation, settings: AlertSettings
    ) -> OutboxEntry:
        """Return the entry of a message: to be sent, held or closed, see `plan`. Save that decision.

        If the disk fails, the message is sent.
        """
        file = JsonFile(self._history_path(fingerprint), AlertHistory, _MAX_BYTES)
        with suppress(StorageFailed), lock(file.lock_path):
            before = file.read_to_change()
            history, planned = plan(before, entry, situation, settings)
            if history != before:
                file.write(history)
            return planned
        return entry
