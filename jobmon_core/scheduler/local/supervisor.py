"""The process that runs one local job and records how each of its tasks ends.

    python -m jobmon_core.scheduler.local.supervisor FOLDER

It runs in a session of its own, so it survives the end of jobmon and a closed terminal.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable, StorageFailed
from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord, new_task_id
from jobmon_core.scheduler.local.process_tree import SignalWaiter
from jobmon_core.scheduler.local.task_env import TaskEnv
from jobmon_core.scheduler.local.tasks import run_task
from jobmon_core.system.process import ProcessId, adopt_orphans

if TYPE_CHECKING:
    from collections.abc import Callable

_DEPENDENCY_S = 1.0  # between two looks at the jobs that must succeed first
_RETRY_S = 5.0  # between two attempts to write to a full disk


def run_job(folder: JobDir, spec: JobSpec, host: str, signals: SignalWaiter) -> None:
    """Run the tasks of a job, one at a time, until all have ended or the job is cancelled."""
    indices: list[int | None] = [*IndexSet.parse(spec.array)] or [None]
    may_start = _await_dependency(folder, spec, signals)
    for position, index in enumerate(indices):
        signals.wait(0)
        if signals.stopped_by is not None or not may_start:
            record = TaskRecord(
                raw_job_id=folder.id,
                state=JobState.CANCELLED,
                never_started=True,
                end_s=int(time.time()),
                cancelled_by=signals.stopped_by,
                reason="" if may_start else "DependencyNeverSatisfied",
            )
        else:
            # as in Slurm the last task has the id of the whole array
            raw_job_id = folder.id if position == len(indices) - 1 else new_task_id(folder)
            task_env = TaskEnv(spec, folder.id, index, raw_job_id, host)
            record = run_task(task_env, folder.script, signals, folder.write_task)
        _retry(folder, signals, partial(folder.write_task, record))
        if record.never_started:
            break
    _retry(folder, signals, folder.mark_ended)


def _await_dependency(folder: JobDir, spec: JobSpec, signals: SignalWaiter) -> bool:
    """Wait for the jobs that must succeed first; return False if one did not. A signal ends the wait."""
    before = [JobDir(folder.path.parent / str(job_id)) for job_id in spec.after_ok]
    while signals.stopped_by is None:
        succeeded = [_succeeded(each) for each in before]
        if False in succeeded:
            return False
        if all(succeeded):
            break
        signals.wait(_DEPENDENCY_S)
    return True


def _succeeded(folder: JobDir) -> bool | None:
    """Return whether a job succeeded, None before its end; False if its records cannot be read."""
    try:
        return folder.succeeded()
    except (OSError, StateUnreadable):
        return False


def _retry(folder: JobDir, signals: SignalWaiter, write: Callable[[], None]) -> None:
    """Retry until the write succeeds or the directory is removed: the record exists nowhere else."""
    while folder.path.is_dir():
        try:
            write()
        except StorageFailed:
            signals.wait(_RETRY_S)
        else:
            return


def main(arguments: list[str]) -> int:
    """Fork a supervisor; return 0 once it has taken over the job, else 1. The fork returns after the job."""
    readable, writable = os.pipe()
    if os.fork():
        os.close(writable)
        return 0 if os.read(readable, 1) else 1
    os.close(readable)
    folder = JobDir(Path(arguments[0]))
    spec = folder.spec()
    if spec is None:
        raise FileNotFoundError(folder.path)
    signals = SignalWaiter()
    adopt_orphans()
    supervisor = ProcessId.current()
    folder.write_owner(supervisor)
    os.write(writable, b"1")
    os.close(writable)
    run_job(folder, spec, supervisor.host, signals)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
