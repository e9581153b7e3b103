"""Follows the processes of a task on this node."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field

from jobmon_core.agent import proc
from jobmon_core.domain.node.telemetry.processes import MeasuredTask, Process, task_processes

VARIABLES = frozenset(
    b"SLURM_JOB_ID SLURMD_NODENAME SLURM_STEP_ID SLURM_STEP_NUM_TASKS SLURM_PROCID "
    b"WORLD_SIZE MASTER_ADDR MASTER_PORT TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_SIZE "
    b"PMI_SIZE PMIX_NAMESPACE OMPI_MCA_ess_base_jobid RANK OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK "
    b"OMP_NUM_THREADS CUDA_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES".split()
)
_SETTLED_S = 30.0


@dataclass(slots=True)
class TaskProcesses:
    """The processes of a task, looked at again and again."""

    target: MeasuredTask
    # and whether what they run has settled, so that it is not read again
    _read_before: dict[int, tuple[Process, bool]] = field(default_factory=dict)
    _known: frozenset[tuple[int, int]] = frozenset()

    def look(self, now_ticks: int) -> dict[int, Process]:
        """Return the processes of the task by PID; ``now_ticks`` is the time since boot."""
        table = {}
        for pid in proc.pids_of_user(os.getuid()):
            if process := self._read(pid, now_ticks):
                table[pid] = process
        for pid in self._read_before.keys() - table.keys():
            del self._read_before[pid]
        found = task_processes(table.values(), self.target, self._known)
        self._known = frozenset(process.key for process in found.values())
        return {pid: _with_io(process) for pid, process in found.items()}

    def _read(self, pid: int, now_ticks: int) -> Process | None:
        stat = proc.read_stat(pid)
        if stat is None:
            return None
        known, is_settled = self._read_before.get(pid, (None, False))
        if known and is_settled and (known.key, known.command) == (stat.key, stat.command):
            return dataclasses.replace(stat, argv=known.argv, environment=known.environment)
        process = dataclasses.replace(
            stat,
            argv=proc.read_argv(pid) or (known.argv if known and stat.state == "Z" else ()),
            environment=proc.read_environment(pid, VARIABLES) or (known.environment if known else None),
        )
        self._read_before[pid] = process, now_ticks - stat.start_ticks > proc.ticks(_SETTLED_S)
        return process


def own_pids() -> frozenset[int]:
    """Return the PIDs of this process and its ancestors."""
    pids, pid = set(), os.getpid()
    while pid > 1 and pid not in pids:
        pids.add(pid)
        stat = proc.read_stat(pid)
        pid = stat.parent if stat else 0
    return frozenset(pids)


def _with_io(process: Process) -> Process:
    read, written = proc.read_io(process.pid)
    return dataclasses.replace(process, usage=dataclasses.replace(process.usage, read=read, written=written))
