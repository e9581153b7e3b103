"""The process that runs one local job to its end and writes down how every task of it ended.

    python -m jobmon_core.scheduler.local.supervisor FOLDER

It leaves its parent's session, so that it outlives a logout, a kill of jobmon and a closed terminal.
The program that was started returns once the shepherd is at work: 0, or 1 where it never came that far.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.job_dir import JobDir, indices, new_own_id
from jobmon_core.scheduler.local.machine import Machine, Owner
from jobmon_core.scheduler.local.process_tree import SignalWaiter, adopt_orphans
from jobmon_core.scheduler.local.records import JobSpec, TaskRecord
from jobmon_core.scheduler.local.streams import log_error
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.scheduler.local.tasks import run_task

if TYPE_CHECKING:
    from collections.abc import Callable

_RETRY_S = 5.0  # between two attempts to write to a disk that refuses
_PATIENCE_S = 86_400.0  # how long an end is kept in memory until the disk takes it
_READY = b"1"


class LocalSupervisor:
    """Runs the tasks of one job, one after the other."""

    def __init__(self, folder: JobDir, spec: JobSpec, machine: Machine, signals: SignalWaiter) -> None:
        """Take over a job; nothing is started yet."""
        self._folder = folder
        self._spec = spec
        self._machine = machine
        self._signals = signals

    def run(self) -> None:
        """Run every task, or as many as were not cancelled before."""
        todo = indices(self._spec)
        for position, index in enumerate(todo):
            self._signals.wait(0)
            if self._signals.cancelled_by is not None:
                self._keep(self._never_started())
                break
            own_id = self._own_id(is_last=position == len(todo) - 1)
            task_env = TaskEnv(self._spec, self._folder.id, index, own_id, self._machine.host)
            self._keep(run_task(task_env, self._folder.script, self._machine, self._signals, self._note))
        self._persist(self._folder.mark_ended)

    def _own_id(self, *, is_last: bool) -> int:
        """Number a task; as in Slurm the last one bears the number of the whole array."""
        if is_last:
            return self._folder.id
        try:
            return new_own_id(self._folder)
        except OSError as error:  # better two tasks of one number than a task that never runs
            log_error(f"no number for a task of its own: {error}")
            return self._folder.id

    def _never_started(self) -> TaskRecord:
        return TaskRecord(
            own_id=self._folder.id,
            state=JobState.CANCELLED,
            waiting=True,
            end_s=int(time.time()),
            cancelled_by=self._signals.cancelled_by,
        )

    def _note(self, record: TaskRecord) -> None:
        """Write down that a task runs; the task matters more than the note."""
        try:
            self._folder.write_task(record)
        except OSError as error:
            log_error(f"not written: {error}")

    def _keep(self, record: TaskRecord) -> None:
        self._persist(lambda: self._folder.write_task(record))

    def _persist(self, write: Callable[[], None]) -> None:
        """Write what nobody else knows: a full disk is waited for, a folder that was removed is not."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                write()
            except OSError as error:
                log_error(f"not written: {error}")
                if not self._folder.path.is_dir() or time.monotonic() > deadline:
                    return
                self._signals.wait(_RETRY_S)
            else:
                return


def main(arguments: list[str]) -> int:
    """Detach, run the job that lies in the folder named, and return when it ended."""
    readable, writable = os.pipe()
    if os.fork():
        os.close(writable)
        return 0 if os.read(readable, len(_READY)) == _READY else 1
    os.close(readable)
    folder = JobDir(Path(arguments[0]))
    spec = folder.spec()
    if spec is None:
        raise FileNotFoundError(folder.path)
    signals = SignalWaiter()
    adopt_orphans()
    machine = Machine.here()
    folder.write_owner(Owner.of(os.getpid(), machine))
    os.write(writable, _READY)
    os.close(writable)
    LocalSupervisor(folder, spec, machine, signals).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
