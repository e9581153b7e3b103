"""Which processes of a node belong to a task, what they run, and how much they use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


_SLURM_STEP_DAEMON = "slurmstepd"


@dataclass(frozen=True, slots=True)
class Usage:
    """Since the start of a process, see proc(5)."""

    own_s: float = 0.0  # CPU time
    children_s: float = 0.0  # CPU time of its ended and waited-for children
    read: int | None = None  # bytes, also by waited-for children; None: the kernel does not tell
    written: int | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A process in one look at the process table."""

    pid: int
    parent: int
    start_ticks: int  # since boot
    command: str = ""  # as the kernel shows it, at most 15 characters
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None  # the needed variables at its start; None: unreadable
    state: str = "S"  # see proc(5)
    threads: int = 1
    memory: int = 0  # resident
    usage: Usage = Usage()
    wait_status: int | None = None  # of a zombie, see wait(2)

    @property
    def key(self) -> tuple[int, int]:
        """What identifies the process."""
        return self.pid, self.start_ticks


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """Whose processes an agent measures."""

    job_id: str = ""  # raw, of Slurm
    pids: frozenset[int] = frozenset()  # the first processes, outside Slurm
    node: str = ""  # SLURMD_NODENAME of the agent
    own_pids: frozenset[int] = frozenset()  # the agent and its ancestors
    own_step: str = ""  # SLURM_STEP_ID of an agent in a step of the job


def task_processes(
    table: Iterable[Process], target: MeasuredTask, known: Collection[tuple[int, int]]
) -> dict[int, Process]:
    """Return the processes of a task by their PID.

    A process belongs to it if it is one of the first ones, has the job in its environment, belonged to it in
    an earlier look (``known``), or if its parent does; but not the agent with its ancestors and its step, and
    Slurm's step daemons.
    """
    processes = {process.pid: process for process in table if process.pid not in target.own_pids}
    found = {
        pid: process
        for pid, process in processes.items()
        if (process.key in known or _is_first(process, target)) and not _is_of_agent(process, target)
    }
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    pending = list(found)
    while pending:
        for child in children.get(pending.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                pending.append(child.pid)
    return found


def _is_first(process: Process, target: MeasuredTask) -> bool:
    if process.pid in target.pids:
        return True
    environment = process.environment or {}
    if not target.job_id or environment.get("SLURM_JOB_ID") != target.job_id:
        return False
    return environment.get("SLURMD_NODENAME", target.node) == target.node or not target.node


def _is_of_agent(process: Process, target: MeasuredTask) -> bool:
    step = (process.environment or {}).get("SLURM_STEP_ID")
    return process.command == _SLURM_STEP_DAEMON or bool(target.own_step and step == target.own_step)


Key = tuple[int, int]


def cpu_seconds(before: Mapping[Key, Usage], now: Iterable[Process], new_since_ticks: int) -> float:
    """Return the CPU time used since an earlier look, with children that ended meanwhile.

    When a child ends, its parent's counter of children grows by all that the child has used, and the child's
    own counter disappears: the change of the sum of both is what it used since the look. If the parent is not
    there to count it, the sum falls; what the others used is then the better figure. A process that started
    before ``new_since_ticks`` and was not looked at contributes nothing.
    """
    pairs, gone = _since(before, tuple(now), new_since_ticks)
    own = sum(usage.own_s - earlier.own_s for usage, earlier in pairs)
    children = sum(usage.children_s - earlier.children_s for usage, earlier in pairs)
    ended = sum(usage.own_s + usage.children_s for usage in gone)
    return max(own, own + children - ended, 0.0)


def bytes_moved(
    before: Mapping[Key, Usage], now: Iterable[Process], new_since_ticks: int
) -> tuple[int | None, int | None]:
    """Return the bytes read and written, as `cpu_seconds`; None if the kernel hides them."""
    pairs, gone = _since(before, tuple(now), new_since_ticks)
    if all(usage.read is None for usage, _ in pairs):
        return None, None
    read = sum((usage.read or 0) - (earlier.read or 0) for usage, earlier in pairs)
    written = sum((usage.written or 0) - (earlier.written or 0) for usage, earlier in pairs)
    read -= sum(usage.read or 0 for usage in gone)
    written -= sum(usage.written or 0 for usage in gone)
    return max(read, 0), max(written, 0)


def _since(
    before: Mapping[Key, Usage], now: Sequence[Process], new_since_ticks: int
) -> tuple[list[tuple[Usage, Usage]], list[Usage]]:
    pairs = []
    for process in now:
        is_new = process.start_ticks >= new_since_ticks
        start = Usage(read=0, written=0) if is_new else process.usage
        pairs.append((process.usage, before.get(process.key, start)))
    present = {process.key for process in now}
    return pairs, [usage for key, usage in before.items() if key not in present]


_MAX_NAME = 60
_SHELLS = re.compile("(?:ba|da|z|k|c|tc|fi|a)?sh|slurm_script")
_LAUNCHERS = re.compile(
    r"srun|mpirun|mpiexec(?:\.hydra)?|hydra_pmi_proxy|orterun|orted|prterun|prted|torchrun|horovodrun|"
    r"torch\.distributed\.(?:run|launch)|accelerate(?:\.commands\.launch)?|"
    r"deepspeed(?:\.launcher\.(?:runner|launch))?"
)
_WRAPPERS = re.compile(
    "env|time|timeout|nohup|nice|ionice|chrt|stdbuf|script|unbuffer|setsid|taskset|numactl|sudo|su|xargs|g?make|"
    "parallel|catatonit|tini|dumb-init|conda|(?:micro)?mamba|poetry|pipenv|pixi|uvx?|"
    "apptainer|singularity|starter(?:-suid)?|enroot|docker|podman|conmon|pyxis"
)
_POOLS = re.compile("xargs|g?make|parallel|ninja")  # they say themselves which of their programs failed
_HELPERS = re.compile("tee|cat|tail|head|grep|sed|[gm]?awk|sleep|ts|inotifywait")
_INTERPRETERS = ("python", "perl", "ruby", "julia", "Rscript", "java", "node", "pypy")


def program_name(argv: tuple[str, ...], command: str) -> str:
    """Return the program and its script or module, e.g. ``python train.py``."""
    program, script = _program(argv, command), _script(argv)
    return f"{program} {script}".strip()[:_MAX_NAME]


def starts_others(argv: tuple[str, ...], command: str) -> bool:
    """Whether a process is a shell, launcher or wrapper, which only starts others."""
    names = _program(argv, command).lstrip("-"), _script(argv).removeprefix("-m ")
    return any(kind.fullmatch(name) for kind in (_LAUNCHERS, _WRAPPERS) for name in names) or bool(
        _SHELLS.fullmatch(names[0])
    )


def is_launcher(argv: tuple[str, ...], command: str) -> bool:
    """Whether a process starts several workers, as ``torchrun`` does."""
    names = _program(argv, command), _script(argv).removeprefix("-m ")
    return any(map(_LAUNCHERS.fullmatch, names))


def is_pool(argv: tuple[str, ...], command: str) -> bool:
    """Whether a process starts a new program whenever one of its programs has ended."""
    return any(map(_POOLS.fullmatch, (_program(argv, command), _script(argv))))


def is_helper(argv: tuple[str, ...], command: str) -> bool:
    """Whether a process only accompanies others, as ``tee`` does."""
    return _HELPERS.fullmatch(_program(argv, command)) is not None


def _program(argv: tuple[str, ...], command: str) -> str:
    return (argv[0].rpartition("/")[2] if argv else "") or command


def _script(argv: tuple[str, ...]) -> str:
    """Return the script that an interpreter runs, or ``-m MODULE``."""
    if not argv or not argv[0].rpartition("/")[2].startswith(_INTERPRETERS):
        return ""
    for position, word in enumerate(argv[1:], 1):
        if word == "-m" and position + 1 < len(argv):
            return f"-m {argv[position + 1]}"
        if word == "-c":
            return ""
        if not word.startswith("-"):
            return word.rpartition("/")[2]
    return ""
