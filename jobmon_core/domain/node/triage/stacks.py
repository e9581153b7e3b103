"""The stacks of a program's ranks, and the rank that is elsewhere than the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.domain.node.telemetry.processes import Process

_MAX_PROCESSES = 16  # of one node
_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
KEPT_VARIABLES = (*_RANK_VARIABLES, "SLURM_JOB_ID")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy|pt_main_thread)[0-9.]*")
_HELPERS = ("jobmon_core", "multiprocessing.resource_tracker", "multiprocessing.forkserver")
_THREAD = re.compile(r'Thread \S+ \((?P<state>[^)]*)\)(?:: "(?P<name>[^"]*)")?')
_FRAME = re.compile(r"(?P<function>.+) \((?P<file>.+):(?P<line>\d+)\)")
_MAIN = "MainThread"
# in which a rank waits for the other ranks
_COLLECTIVE = re.compile(
    r"all_?reduce|all_?gather|all_?to_?all|reduce_scatter|broadcast|barrier|monitored_barrier|"
    r"rendezvous|\bwait\b|\brecv\b|synchronize|\bgather\b|\bscatter\b|allReduce|Barrier|Allreduce|Bcast"
)


@dataclass(frozen=True, slots=True)
class Stack:
    """Of one process, as py-spy prints it."""

    node: str
    pid: int
    rank: int | None = None
    command: str = ""
    text: str = ""  # all threads
    problem: str = ""  # why there is none

    @property
    def name(self) -> str:
        """How a text names the process."""
        if self.rank is None:
            return f"process {self.pid}"
        return f"rank {self.rank}"

    @property
    def frames(self) -> tuple[str, ...]:
        """Those of its main thread, the innermost first, e.g. ``loss (train.py:12)``."""
        threads = _threads(self.text)
        return threads.get(_MAIN) or next(iter(threads.values()), ())


def _threads(text: str) -> dict[str, tuple[str, ...]]:
    threads: dict[str, list[str]] = {}
    frames: list[str] | None = None
    for line in text.splitlines():
        if thread := _THREAD.match(line):
            frames = threads.setdefault(thread["name"] or f"thread {len(threads)}", [])
        elif frames is not None and (frame := _FRAME.fullmatch(line.strip())):
            frames.append(frame[0])
    return {name: tuple(found) for name, found in threads.items()}


def to_dump(processes: Iterable[Process]) -> Sequence[tuple[Process, int | None]]:
    """Return the Python processes whose stacks show where a program is, with their ranks.

    With several ranks on this node, the first process of each rank: its loader workers inherit the rank.
    """
    pythons = [each for each in processes if _runs_program(each)]
    variable = next(
        (name for name in _RANK_VARIABLES if len({_rank_of(each, name) for each in pythons} - {""}) > 1), None
    )
    if variable is None:
        return [(each, None) for each in pythons[:_MAX_PROCESSES]]
    by_pid = {each.pid: each for each in pythons}
    first = [
        (each, int(rank))
        for each in pythons
        if (rank := _rank_of(each, variable)).isdigit()
        if _rank_of(by_pid.get(each.parent), variable) != rank
    ]
    return sorted(first, key=lambda each: each[1])[:_MAX_PROCESSES]


def _runs_program(process: Process) -> bool:
    is_python = process.command.startswith("python") or (process.argv and _PYTHON.fullmatch(process.argv[0]))
    return bool(is_python) and not any(helper in part for part in process.argv for helper in _HELPERS)


def _rank_of(process: Process | None, variable: str) -> str:
    if process and process.environment:
        return process.environment.get(variable, "")
    return ""


@dataclass(frozen=True, slots=True)
class Stacks:
    """Where the processes of a task are, on one node (the content of a file) or on all."""

    stacks: tuple[Stack, ...] = ()  # by rank
    problems: tuple[str, ...] = ()
    dumps: tuple[str, ...] = ()  # paths, of PyTorch's flight recorder


# in one line; the ranks that are elsewhere than the others
Comparison = tuple[str, tuple[str, ...]]


def compare(stacks: Sequence[Stack]) -> Comparison:
    """Return which ranks are elsewhere than most others, and whether the others wait for them."""
    known = [stack for stack in stacks if stack.frames]
    if len(known) < 2:  # noqa: PLR2004 - one has no peer
        return "", ()
    waiting = [stack for stack in known if _waits(stack)]
    missing = [stack for stack in known if stack not in waiting]
    if 0 < len(missing) <= len(waiting):
        return _missing(missing, waiting)
    counts = Counter(stack.frames for stack in known)
    (usual, number), *_ = counts.most_common(1)
    if number == len(known):
        return f"all {len(known)} are at {usual[0]}", ()
    if 2 * number <= len(known):
        return "the ranks are at different places, as in a program that computes", ()
    return _odd([stack for stack in known if stack.frames != usual], f"{number} others are at {usual[0]}")


def _odd(odd: Sequence[Stack], others: str) -> Comparison:
    where = "; ".join(f"{stack.name} is at {stack.frames[0]}" for stack in odd)
    return f"{where}; {others}", tuple(stack.name for stack in odd)


def _missing(missing: Sequence[Stack], waiting: Sequence[Stack]) -> Comparison:
    where = "; ".join(f"{stack.name} did not arrive: it is at {stack.frames[0]}" for stack in missing)
    count = "the other waits" if len(waiting) == 1 else f"the other {len(waiting)} wait"
    call = next(frame for frame in waiting[0].frames if _COLLECTIVE.search(_function(frame)))
    return f"{where}; {count} in {call}", tuple(stack.name for stack in missing)


def _waits(stack: Stack) -> bool:
    return any(_COLLECTIVE.search(_function(frame)) for frame in stack.frames[:8])


def _function(frame: str) -> str:
    return frame.partition(" (")[0]


def command(pids: Iterable[int], job_id: str, folder: str, node: str = "") -> tuple[str, ...]:
    """Return the arguments of Python that take the stacks on one node into ``folder``."""
    about = [f"--job={job_id}"] if job_id else [f"--pid={pid}" for pid in pids]
    about += [f"--node={node}"] if node else []
    return ("-P", "-m", "jobmon_core.observe.stacks", f"--folder={folder}", *about)


def parse_environment(raw: bytes) -> Mapping[str, str]:
    """Read the environment of a process, as /proc has it."""
    pairs = (each.partition(b"=") for each in raw.split(b"\0"))
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, _, value in pairs if name}
