"""Which processes of a task are its workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.measuring.programs import is_helper, program_name, starts_others

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from jobmon_core.domain.telemetry.measuring.processes import Process

_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")  # of launchers, strongest first
_MAX_DEAD = 16


@dataclass(frozen=True, slots=True)
class Group:
    """A worker: its first process and the descendants of that which belong to no other worker."""

    top: Process
    main: Process  # does the work: ``top``, or what it started if that is a shell or a wrapper
    members: tuple[Process, ...]  # all, with ``top``
    rank: int | None = None

    @property
    def name(self) -> str:
        """The program, e.g. ``python train.py``."""
        return program_name(self.main.argv, self.main.command)


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker that has ended."""

    pid: int
    name: str
    rank: int | None
    start_ticks: int
    ended_s: float  # Unix seconds


def find_workers(processes: Mapping[int, Process], on_gpus: Collection[int] = ()) -> tuple[Group, ...]:
    """Return the workers among the processes of a task, by rank or else by PID; ``on_gpus`` hold a GPU.

    They are the processes with a rank that differs from their parent's, without launchers whose workers have
    ranks of their own. If none has a rank, they are the topmost processes that are no shell, launcher or
    wrapper. A program that holds no GPU, but whose children do, is a launcher, too, e.g. one with
    torch.multiprocessing.spawn.
    """
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    roots = [process for process in processes.values() if process.parent not in processes]
    tops = (
        _ranked(processes)
        or _on_gpus(_topmost(roots, children), children, on_gpus)
        or [(root, None) for root in roots]
    )
    stops = {top.pid for top, _ in tops}
    groups = (_group(top, rank, children, stops) for top, rank in tops)
    return tuple(sorted(groups, key=lambda group: (group.rank or 0, group.main.pid)))


def rank_of(process: Process) -> tuple[int, int] | None:
    """Return the strength of the variable that sets the rank of a process (0 is the strongest), and the rank.

    SLURM_PROCID counts only in a step of several tasks: it is set in every step.
    """
    environment = process.environment or {}
    for strength, variable in enumerate(_RANK_VARIABLES):
        if (value := environment.get(variable, "")).isdecimal():
            return strength, int(value)
    tasks, rank = environment.get("SLURM_STEP_NUM_TASKS", ""), environment.get("SLURM_PROCID", "")
    if tasks.isdecimal() and int(tasks) > 1 and rank.isdecimal() and "SLURM_STEP_ID" in environment:
        return len(_RANK_VARIABLES), int(rank)
    return None


def still_missed(gone: Iterable[Gone], workers: Iterable[Group]) -> tuple[Gone, ...]:
    """Return the ended workers that nothing has replaced, the latest ones.

    One with a rank is replaced by a new worker of its rank, e.g. after an elastic restart; one without by a
    later worker of its name, e.g. in a script that runs programs one after the other.
    """
    workers = tuple(workers)
    ranks = {group.rank for group in workers if group.rank is not None}
    newest = {group.name: group.top.start_ticks for group in workers}
    missed = [
        worker
        for worker in gone
        if worker.rank not in ranks
        and (worker.rank is not None or newest.get(worker.name, -1) <= worker.start_ticks)
    ]
    return tuple(sorted(missed, key=lambda worker: worker.ended_s)[-_MAX_DEAD:])


def _ranked(processes: Mapping[int, Process]) -> list[tuple[Process, int | None]]:
    ranks = {pid: rank for pid, process in processes.items() if (rank := rank_of(process))}
    tops = {pid: rank for pid, rank in ranks.items() if ranks.get(processes[pid].parent) != rank}
    launchers = set()
    for pid, (strength, _) in tops.items():
        ancestor = processes[pid].parent
        while ancestor in processes and ancestor not in launchers:
            if ancestor in tops and tops[ancestor][0] > strength:
                launchers.add(ancestor)  # e.g. torchrun in a step: its children have ranks of their own
            ancestor = processes[ancestor].parent
    return [(processes[pid], rank) for pid, (_, rank) in tops.items() if pid not in launchers]


def _topmost(roots: list[Process], children: Mapping[int, list[Process]]) -> list[tuple[Process, int | None]]:
    found, pending = [], list(roots)
    while pending:
        process = pending.pop()
        if starts_others(process.argv, process.command):
            pending += children.get(process.pid, ())
        else:
            found.append(process)
    others = [process for process in found if not is_helper(process.argv, process.command)]
    return [(process, None) for process in others or found]


def _on_gpus(
    tops: list[tuple[Process, int | None]],
    children: Mapping[int, list[Process]],
    on_gpus: Collection[int],
) -> list[tuple[Process, int | None]]:
    """Return the workers with the children of a launcher in its place."""
    found: list[tuple[Process, int | None]] = []
    for top, rank in tops:
        started = [child for child in children.get(top.pid, ()) if child.pid in on_gpus]
        found += [(child, None) for child in started] if started and top.pid not in on_gpus else [(top, rank)]
    return found


def _group(top: Process, rank: int | None, children: Mapping[int, list[Process]], stops: set[int]) -> Group:
    members = [top]
    for member in members:  # grows during the loop
        members += [child for child in children.get(member.pid, ()) if child.pid not in stops]
    main = top
    while starts_others(main.argv, main.command):
        living = [
            child
            for child in children.get(main.pid, ())
            if child.pid not in stops and child.state != "Z" and not is_helper(child.argv, child.command)
        ]
        if len(living) != 1:
            break
        main = living[0]
    return Group(top, main, tuple(members), rank)
