"""Follows the processes of a task on this node."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from jobmon_core.agent import proc
from jobmon_core.domain.node.telemetry.processes import Process, Target, Usage, task_processes

VARIABLES = frozenset(
    {
        *(b"SLURM_JOB_ID", b"SLURMD_NODENAME", b"SLURM_STEP_ID", b"SLURM_STEP_NUM_TASKS", b"SLURM_PROCID"),
        *(b"WORLD_SIZE", b"MASTER_ADDR", b"MASTER_PORT", b"TORCHELASTIC_RUN_ID", b"OMPI_COMM_WORLD_SIZE"),
        *(b"PMI_SIZE", b"PMIX_NAMESPACE", b"OMPI_MCA_ess_base_jobid"),
        *(b"RANK", b"OMPI_COMM_WORLD_RANK", b"PMI_RANK", b"PMIX_RANK", b"OMP_NUM_THREADS"),
        *(b"CUDA_VISIBLE_DEVICES", b"NVIDIA_VISIBLE_DEVICES"),
    }
)
_SETTLED_S = 30.0


class _Identity(NamedTuple):
    start_ticks: int
    command: str
    argv: tuple[str, ...]
    environment: dict[str, str] | None
    is_settled: bool


@dataclass(slots=True)
class TaskProcesses:
    """The processes of a task, looked at again and again."""

    target: Target
    _identities: dict[int, _Identity] = field(default_factory=dict)
    _known: frozenset[tuple[int, int]] = frozenset()

    def look(self, now_ticks: int) -> dict[int, Process]:
        """Return the processes of the task by PID; ``now_ticks`` is the time since boot."""
        table = {}
        for pid in proc.pids_of_user(os.getuid()):
            if process := self._read(pid, now_ticks):
                table[pid] = process
        for pid in self._identities.keys() - table.keys():
            del self._identities[pid]
        found = task_processes(table.values(), self.target, self._known)
        self._known = frozenset(process.key for process in found.values())
        return {pid: _with_io(process) for pid, process in found.items()}

    def _read(self, pid: int, now_ticks: int) -> Process | None:
        stat = proc.read_stat(pid)
        if stat is None:
            return None
        known = self._identities.get(pid)
        if not (
            known
            and known.is_settled
            and known.start_ticks == stat.start_ticks
            and known.command == stat.command
        ):
            known = self._identities[pid] = _Identity(
                stat.start_ticks,
                stat.command,
                proc.read_argv(pid) or (known.argv if known and stat.state == "Z" else ()),
                proc.read_environment(pid, VARIABLES) or (known.environment if known else None),
                now_ticks - stat.start_ticks > proc.ticks(_SETTLED_S),
            )
        return Process(
            pid,
            stat.parent,
            stat.start_ticks,
            stat.command,
            known.argv,
            known.environment,
            stat.state,
            stat.threads,
            stat.memory,
            Usage(stat.own_s, stat.children_s),
        )


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
    usage = Usage(process.usage.own_s, process.usage.children_s, read, written)
    return dataclasses.replace(process, usage=usage)


_INFO_BYTES, _MASK_EXIT, _STATUS_AT = 64, 1 << 3, 60
_GET_INFO = (3 << 30) | (_INFO_BYTES << 16) | (0xFF << 8) | 11  # _IOWR(0xFF, 11, struct pidfd_info)


Exit = tuple[int | None, int | None]  # the exit code and the signal of a process; None if not known
NOT_KNOWN: Exit = (None, None)


class ProcessHandle:
    """A running process, also for the time after its end."""

    def __init__(self, pid: int) -> None:
        """Begin; of a process that has just ended, nothing is known."""
        self.pid = pid
        self.output = ""  # the path of the file that it prints to; empty if that is a pipe or a device
        self.is_pooled = False  # see `Worker.is_pooled`
        self._fd: int | None = None
        with suppress(OSError):
            self._fd = os.pidfd_open(pid)

    def note(self, *, is_pooled: bool) -> None:
        """Note what can be seen only while it runs."""
        self.is_pooled = is_pooled
        with suppress(OSError):
            path = os.readlink(f"{proc.PROC}/{self.pid}/fd/1")  # noqa: PTH115 - paths are texts here
            is_file = path.startswith("/") and not path.startswith("/dev/")
            self.output = path.removesuffix(" (deleted)") if is_file else ""

    def exit(self) -> Exit:
        """Return how it ended, once its parent has read that, and close the handle."""
        if self._fd is None:
            return NOT_KNOWN
        info = bytearray(_INFO_BYTES)
        struct.pack_into("=Q", info, 0, _MASK_EXIT)
        try:
            fcntl.ioctl(self._fd, _GET_INFO, info)
        except OSError:
            return NOT_KNOWN
        finally:
            self.close()
        has_status = struct.unpack_from("=Q", info)[0] & _MASK_EXIT
        if has_status:
            return exit_of(struct.unpack_from("=i", info, _STATUS_AT)[0])
        return NOT_KNOWN

    def close(self) -> None:
        """Release the handle."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def exit_of(wait_status: int) -> Exit:
    """Return what a wait status says."""
    if os.WIFSIGNALED(wait_status):
        return None, os.WTERMSIG(wait_status)
    return os.waitstatus_to_exitcode(wait_status), None
