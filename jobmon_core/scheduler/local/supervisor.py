"""The process that runs one local job and records how each of its tasks ends.

    python -m jobmon_core.scheduler.local.supervisor FOLDER

It runs in a session of its own, so it survives a logout, a kill of jobmon and a closed terminal. The program
forks: its parent exits with 0 once the supervisor has taken over the job, or with 1 if that failed.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord, new_task_id
from jobmon_core.scheduler.local.process_tree import SignalWaiter
from jobmon_core.scheduler.local.streams import log_error
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.scheduler.local.tasks import run_task
from jobmon_core.system.process import ProcessId, adopt_orphans

if TYPE_CHECKING:
    from collections.abc import Callable

_RETRY_S = 5.0  # between two attempts to write to a full disk
_GIVE_UP_S = 86_400.0
_READY = b"1"


class LocalSupervisor:
    """Runs the tasks of one job, one at a time."""

    def __init__(self, folder: JobDir, spec: JobSpec, host: str, signals: SignalWaiter) -> None:
        """Set up without starting anything."""
        self._folder = folder
        self._spec = spec
        self._host = host
        self._signals = signals

    def run(self) -> None:
        """Run the tasks until all have ended or the job is cancelled."""
        indices = self._spec.indices
        for position, index in enumerate(indices):
            self._signals.wait(0)
            if self._signals.cancelled_by is not None:
                self._save(self._cancelled_tasks())
                break
            raw_job_id = self._raw_job_id(is_last=position == len(indices) - 1)
            task_env = TaskEnv(self._spec, self._folder.id, index, raw_job_id, self._host)
            self._save(run_task(task_env, self._folder.script, self._signals, self._save_running))
        self._retry(self._folder.mark_ended)

    def _raw_job_id(self, *, is_last: bool) -> int:
        """Return a job id for a task; as in Slurm the last task has the id of the whole array."""
        if is_last:
            return self._folder.id
        try:
            return new_task_id(self._folder)
        except OSError as error:  # two tasks with the same id are better than a task that never runs
            log_error(f"cannot reserve a job id for an array task: {error}")
            return self._folder.id

    def _cancelled_tasks(self) -> TaskRecord:
        return TaskRecord(
            raw_job_id=self._folder.id,
            state=JobState.CANCELLED,
            never_started=True,
            end_s=int(time.time()),
            cancelled_by=self._signals.cancelled_by,
        )

    def _save_running(self, record: TaskRecord) -> None:
        """Save the record of a running task; a failure must not stop the task."""
        try:
            self._folder.write_task(record)
        except StorageFailed as error:
            log_error(str(error))

    def _save(self, record: TaskRecord) -> None:
        self._retry(lambda: self._folder.write_task(record))

    def _retry(self, write: Callable[[], None]) -> None:
        """Write until the disk accepts it: no other process knows how the task ended.

        Give up after a day, or if the job's directory was removed.
        """
        deadline = time.monotonic() + _GIVE_UP_S
        while True:
            try:
                write()
            except StorageFailed as error:
                log_error(str(error))
                if not self._folder.path.is_dir() or time.monotonic() > deadline:
                    return
                self._signals.wait(_RETRY_S)
            else:
                return


def main(arguments: list[str]) -> int:
    """Fork a supervisor; return once it has taken over in the parent, once it has finished in the child."""
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
    supervisor = ProcessId.current()
    folder.write_owner(supervisor)
    os.write(writable, _READY)
    os.close(writable)
    LocalSupervisor(folder, spec, supervisor.host, signals).run()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
