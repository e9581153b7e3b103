"""What a monitor process keeps across an exec or a handover: the locks of its jobs, its slot, its limits.

To hand over all jobs to a fresh process, before a site ends this one for its CPU time, the monitor forks. The
child has the same jobs in memory and the same locks, since a lock belongs to the open file that both
processes share. The parent does nothing until the child is the owner, and then exits. If the child fails
first, the parent continues; if the parent is killed, the child continues.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import SlotHolder, acquire_slot, write_slot_holder
from jobmon_core.store.owner import Owner, OwnerRecord
from jobmon_core.system.clock import Clock
from jobmon_core.system.environment import env_fingerprint
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.process import fork_with_pipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MODULE = "jobmon_core.monitor.main"
# tracebacks name lines, not the places within them: that takes 0.1 MB less
_OPTIONS = ("-P", "-X", "no_debug_ranges")
_NO_SLOT = -1
_TRIAL_S = 60  # a file server that does not respond must not stop the monitor for longer
_OWNS_ALL = b"ready"


@dataclass(slots=True)
class ProcessState:
    """The descriptors that this monitor process holds, and its limits."""

    home: Home
    locks: dict[str, int] = field(default_factory=dict)  # state id -> descriptor of the lock
    slot: int | None = None  # descriptor of the slot; None if this process has none
    max_monitors: int = 0  # limit per host; 0 for a sentinel, which takes no slot and adopts no jobs
    cpu_budget_s: float = float("inf")  # CPU time after which a successor process takes over
    env_fingerprint: str = field(default_factory=lambda: env_fingerprint(os.environ))

    def __iter__(self) -> Iterator[int]:
        """Yield the descriptors that child processes must close, or the locks would outlive this process."""
        yield from self.locks.values()
        if self.slot is not None:
            yield self.slot

    @classmethod
    def from_argv(cls, argv: Sequence[str]) -> ProcessState:
        """Read the arguments that `to_argv` returned."""
        root, max_monitors, cpu_budget_s, slot, locks, *state_ids = argv
        return cls(
            Home(Path(root)),
            dict(zip(state_ids, map(int, locks.split(",")), strict=True)),
            None if int(slot) == _NO_SLOT else int(slot),
            int(max_monitors),
            float(cpu_budget_s),
        )

    def to_argv(self) -> list[str]:
        """Return this state, except the environment fingerprint, as program arguments."""
        slot = _NO_SLOT if self.slot is None else self.slot
        locks = ",".join(map(str, self.locks.values()))
        return [*map(str, (self.home.root, self.max_monitors, self.cpu_budget_s, slot)), locks, *self.locks]

    def exec_monitor(self) -> NoReturn:
        """Replace this program by a fresh monitor with the same PID and locks, and without its memory."""
        os.execv(sys.executable, [sys.executable, *_OPTIONS, "-m", _MODULE, *self.to_argv()])  # noqa: S606 - our own

    def can_start_monitor(self) -> bool:
        """Whether a new process can load the monitor; during an upgrade, files may be missing."""
        code = f"import signal; signal.alarm({_TRIAL_S}); import {_MODULE}"  # SIGALRM ends a trial that hangs

        def load() -> bool:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it were ignored, there would be no exit status
            # not by `system.runner`, which an old monitor may be unable to load now
            argv = [sys.executable, *_OPTIONS, "-c", code]
            return os.spawnv(os.P_WAIT, sys.executable, argv) == 0  # noqa: S606 - our own

        try:
            return Helper(self).run(bool, load, _TRIAL_S)
        except HelperFailed:
            return False

    def write_owner(self) -> None:
        """Make this process the owner of the jobs and of the slot, whoever owns them."""
        for state_id in self.locks:
            OwnerRecord(self.home.owner_file(state_id)).write(Owner.this_process())
        self.write_slot()

    def write_slot(self) -> None:
        """Write the identity and the number of jobs of this process into its slot, if it has one."""
        if self.slot is not None:
            holder = SlotHolder(Owner.this_process(), len(self.locks), self.env_fingerprint)
            write_slot_holder(self.slot, holder)

    def release_slot(self) -> None:
        """Give back the slot, if this process has one."""
        if self.slot is not None:
            os.close(self.slot)
            self.slot = None

    def acquire_slot(self) -> None:
        """Take a free slot, if this process has none and may have one."""
        if self.slot is None and self.max_monitors:
            self.slot = acquire_slot(self.home.slots, self.max_monitors)
            self.write_slot()

    def release(self, state_id: str) -> None:
        """Release the lock and the owner record of a job, if this process holds them."""
        lock = self.locks.pop(state_id, None)
        if lock is not None:
            OwnerRecord(self.home.owner_file(state_id)).remove()
            os.close(lock)
            self.write_slot()


def hand_over(process_state: ProcessState) -> bool:
    """Fork a successor. Like a fork, this function returns in two processes.

    True in this process, which must exit and write nothing more; False in the successor, which owns all jobs
    and must continue. StorageFailed says why there is no successor.
    """
    try:
        pid, own_end = fork_with_pipe()
    except OSError as error:
        raise StorageFailed(f"cannot start a process: {error.strerror}") from error
    if pid == 0:
        _take_ownership(process_state, own_end)
        return False
    with open(own_end, "rb") as pipe:
        status = pipe.read()  # until the successor closes its end or dies
    if status != _OWNS_ALL:
        _take_back(process_state, pid, status.decode(errors="replace") or "the new process was killed")
    _forward_signals(pid)
    return True


def _take_ownership(process_state: ProcessState, writing: int) -> None:
    """Make this process the owner and tell the parent; exit if that fails while the parent lives."""
    try:
        process_state.write_owner()
        status = _OWNS_ALL
    except BaseException as error:  # noqa: BLE001 - the parent reports it
        status = f"{type(error).__name__}: {error}".encode(errors="replace")
    with suppress(BrokenPipeError):  # the parent is dead: continue, even if no owner record could be written
        os.write(writing, status)
        if status != _OWNS_ALL:
            os._exit(1)
    os.close(writing)


def _take_back(process_state: ProcessState, pid: int, why: str) -> NoReturn:
    """Restore the owner records that the failed successor may have replaced; raise StorageFailed."""
    with suppress(ChildProcessError):  # if SIGCHLD is ignored, the kernel has reaped it
        os.waitpid(pid, 0)
    try:
        process_state.write_owner()
    except StorageFailed as error:
        why = f"{why}; {error}"
    raise StorageFailed(why)


def _forward_signals(pid: int) -> None:
    """Send the successor the requests that arrived for this process: a child inherits no pending signals."""
    for number in signal.sigpending() & set(Clock.WAKING):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
