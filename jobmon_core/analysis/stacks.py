"""Take the stacks of the processes of a running task, on all of its nodes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon_core.domain.node.telemetry.agent import killed_first
from jobmon_core.domain.node.triage.stacks import NodeStacks, StackReport, command, compare
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.files import private_folder
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.store.telemetry import TaskTelemetry

FOLDER = "stacks"  # in the folder of the task's telemetry
_TIMEOUT_S = 90.0
_MAX_BYTES = 2**20


def take_stacks(job: WatchedJob, task: Task, telemetry: TaskTelemetry) -> StackReport:
    """Return the stacks of the processes of a running task; takes up to a minute and a half."""
    folder = _empty_folder(telemetry.folder / FOLDER)
    backend, job_id = find_backend(job.backend), str(task.raw_job_id or job.job_id)
    if backend.in_job:
        take = killed_first((sys.executable, *command((), job_id, str(folder))))
        argv = backend.in_job(job_id, job.other_cluster, take)
    elif pids := _pids(telemetry):
        argv = killed_first((sys.executable, *command(pids, "", str(folder))))
    else:
        return StackReport(problems=("its processes are not known: no agent has reported any",))
    result = Runner().capture(argv, _TIMEOUT_S)
    failed = () if succeeded(result) else (result.error_text,)
    return read_stacks(sorted(folder.glob("*.json")), failed)


def read_stacks(files: Iterable[Path], failed: tuple[str, ...] = ()) -> StackReport:
    """Return what was taken on the nodes, a file each; ``failed`` says why that may not be all."""
    nodes = [JsonFile(path, NodeStacks, _MAX_BYTES).read() for path in files]
    stacks = [stack for node in nodes for stack in node.stacks]
    stacks.sort(key=lambda stack: (stack.rank is None, stack.rank or 0, stack.node, stack.pid))
    problems = [*failed, *(node.problem for node in nodes if node.problem)]
    problems += [f"{stack.name} on {stack.node}: {stack.problem}" for stack in stacks if stack.problem]
    dumps = tuple(dump for node in nodes for dump in node.dumps)
    return StackReport(tuple(stacks), compare(stacks), tuple(dict.fromkeys(problems)), dumps)


def _empty_folder(folder: Path) -> Path:
    for path in private_folder(folder).glob("*.json"):
        path.unlink(missing_ok=True)
    return folder


def _pids(telemetry: TaskTelemetry) -> tuple[int, ...]:
    """Return the PIDs of the workers, as the agents saw them; for backends whose agents run on this host."""
    return tuple(worker.pid for node in telemetry.nodes() for worker in telemetry.report(node).latest.workers)
