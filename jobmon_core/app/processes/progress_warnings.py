"""Say on the terminal what is wrong with the progress of a job in the foreground, as its monitor finds it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.progress.events.event import WARNINGS, EventKind
from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.store.progress_file import ProgressFile
    from jobmon_core.system.clock import Clock
    from jobmon_core.system.files import Stamp

_ADVICE = {EventKind.STALLED: "; look at it, jobmon goes on watching"}
_INTERVAL_S = 2.0  # between two looks at the file


@dataclass(slots=True)
class ProgressWarnings:
    """The warnings in the progress file of a job, each said once."""

    file: ProgressFile
    clock: Clock
    tell: Callable[[str], None]
    _looked_s: float = field(default=0.0, init=False)  # Unix seconds
    _stamp: Stamp | None = field(default=None, init=False)
    _told_s: float = field(default=0.0, init=False)  # the time of the latest event that was said

    def look(self) -> None:
        """Say what is new; call this often."""
        now_s = self.clock.now()
        if 0 <= now_s - self._looked_s < _INTERVAL_S:
            return
        self._looked_s = now_s
        stamp = file_stamp(self.file.path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        new = [event for event in self.file.read().events if event.at_s > self._told_s]
        for event in new:
            self._told_s = max(self._told_s, event.at_s)  # a checkpoint is listed late, so times may decrease
            if event.is_quiet:
                continue
            if event.kind in WARNINGS:
                kind = "" if event.text.startswith(event.kind) else f"{event.kind}: "
                self.tell(f"{kind}{event.text}{_ADVICE.get(event.kind, '')}")
            elif event.ended in WARNINGS:
                self.tell(f"{event.kind}: {event.text}")
