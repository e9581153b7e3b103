"""What a monitor has and hands on through an exec: descriptors, and the words that name them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.store.handoffs import Handoffs
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import MonitorSlots, SlotHolder, write_slot_holder
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.env_fingerprint import env_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MODULE = "jobmon_core.monitor.main"
_NONE = -1


@dataclass(slots=True)
class ProcessState:
    """The locks of the jobs that this process follows, its place among the monitors, and its allowance."""

    home: Home
    locks: dict[str, int] = field(default_factory=dict)  # job id -> descriptor of its lock
    slot: int | None = None  # the descriptor of its place; None for one that was started beyond the ceiling
    max_monitors: int = 0  # how many monitors there may be
    cpu_budget_s: float = float("inf")  # how much CPU time this process may take before it hands over
    handover_pipe: int | None = None  # the pipe to whoever waits for our first word
    env_fingerprint: str = field(default_factory=lambda: env_fingerprint(os.environ))

    def __iter__(self) -> Iterator[int]:
        """Yield the descriptors that a child must not keep: they would outlive this process in it."""
        yield from self.locks.values()
        if self.slot is not None:
            yield self.slot

    @classmethod
    def from_argv(cls, words: Sequence[str]) -> ProcessState:
        """Read what `words` wrote."""
        root, mark, ceiling, cpu_s, slot, predecessor, locks, *job_ids = words
        held = dict(zip(job_ids, map(int, locks.split(",")), strict=True))
        return cls(
            Home(Path(root)), held, _given(slot), int(ceiling), float(cpu_s), _given(predecessor), mark
        )

    def to_argv(self) -> list[str]:
        """Return what `of` reads, as arguments of a program."""
        numbers = (_NONE if number is None else number for number in (self.slot, self.handover_pipe))
        locks = ",".join(map(str, self.locks.values()))
        return [
            str(self.home.root),
            self.env_fingerprint,
            str(self.max_monitors),
            str(self.cpu_budget_s),
            *map(str, numbers),
            locks,
            *self.locks,
        ]

    def exec_monitor(self) -> NoReturn:
        """Become the slim monitor: same pid, same locks, none of this process's memory."""
        os.execv(sys.executable, [sys.executable, "-P", "-m", _MODULE, *self.to_argv()])  # noqa: S606 - our own

    def write_owner(self) -> None:
        """Name this process as the owner of the jobs and of its place, whichever process was that before.

        Raises:
            StorageFailed: the disk refused.
        """
        for job_id in self.locks:
            OwnerRecord(self.home.monitors / f"{job_id}.owner").write(Owner.this_process())
        self.write_slot()

    def write_slot(self) -> None:
        """Say in its place who this is and how many jobs it has."""
        if self.slot is not None:
            write_slot_holder(
                self.slot, SlotHolder(Owner.this_process(), len(self.locks), self.env_fingerprint)
            )

    def acquire_slot(self) -> None:
        """Take a place that has become free, where this process has none.

        Raises:
            StorageFailed: the file system refused it.
        """
        if self.slot is None and self.max_monitors:
            self.slot = MonitorSlots(self.home.slots).acquire(self.max_monitors)
            self.write_slot()

    @property
    def handoffs(self) -> Handoffs:
        """What is offered to this process, among others."""
        return Handoffs(self.home.handoffs, self.env_fingerprint)

    def release(self, job_id: str) -> None:
        """Let go of a job; whoever wants to take it up again can."""
        lock = self.locks.pop(job_id, None)
        if lock is not None:
            OwnerRecord(self.home.monitors / f"{job_id}.owner").remove()
            os.close(lock)
            self.write_slot()


def _given(number: str) -> int | None:
    return None if int(number) == _NONE else int(number)
