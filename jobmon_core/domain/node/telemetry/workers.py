"""Which processes of a task are its workers, and how many workers a launcher was asked for.

torchrun, accelerate and deepspeed set RANK and WORLD_SIZE (PyTorch's documentation, "torchrun: Environment
Variables"), Open MPI OMPI_COMM_WORLD_SIZE, MPICH and Intel MPI PMI_SIZE, srun SLURM_STEP_NUM_TASKS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.node.telemetry.model import RankGroup, Worker
from jobmon_core.domain.node.telemetry.processes import is_helper, is_launcher, program_name, starts_others

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from jobmon_core.domain.node.telemetry.processes import Process


_RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")  # of launchers, strongest first
_MAX_DEAD = 16


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """A worker: its first process and the descendants that belong to no other worker."""

    top: Process
    main: Process  # does the work: ``top``, or what it started if that is a shell or a wrapper
    members: tuple[Process, ...]  # with ``top``
    rank: int | None = None

    @property
    def name(self) -> str:
        """The program, e.g. ``python train.py``."""
        return program_name(self.main.argv, self.main.command)


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker that has ended."""

    worker: Worker
    start_ticks: int
    seen_ticks: int = 0  # when it last ran


def find_workers(processes: Mapping[int, Process], on_gpus: Collection[int] = ()) -> tuple[WorkerGroup, ...]:
    """Return the workers of a task, by rank or else by PID; ``on_gpus`` hold a GPU.

    They are the processes with a rank that differs from their parent's, without launchers whose workers have
    ranks of their own; without ranks, the topmost ones that are no shell, launcher or wrapper. A program that
    holds no GPU, but whose children do, is a launcher, too, e.g. one with torch.multiprocessing.spawn; so is
    one that does less than the children that run another script.
    """
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    roots = [process for process in processes.values() if process.parent not in processes]
    tops = (
        _ranked(processes)
        or _of_launchers(_topmost(roots, children), children, on_gpus)
        or [(root, None) for root in roots]
    )
    stops = {top.pid for top, _ in tops}
    groups = (_group(top, rank, children, stops) for top, rank in tops)
    return tuple(sorted(groups, key=lambda group: (group.rank or 0, group.main.pid)))


def rank_of(process: Process) -> tuple[int, int] | None:
    """Return the strength of the variable that sets a rank (0 is the strongest), and the rank.

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


def still_missed(gone: Iterable[Gone], workers: Iterable[WorkerGroup]) -> tuple[Gone, ...]:
    """Return the ended workers that nothing has replaced, the latest ones.

    A worker of its rank replaces one, e.g. after an elastic restart; without ranks, one of its name that
    started after its end, e.g. in a script that runs programs one after the other.
    """
    workers = tuple(workers)
    ranks = {group.rank for group in workers if group.rank is not None}
    newest = {group.name: group.top.start_ticks for group in workers}
    missed = [
        each
        for each in gone
        if (each.worker.rank is not None and each.worker.rank not in ranks)
        or (
            each.worker.rank is None
            and newest.get(each.worker.name, -1) <= max(each.start_ticks, each.seen_ticks)
        )
    ]
    return tuple(sorted(missed, key=lambda each: each.worker.last_activity_s or 0.0)[-_MAX_DEAD:])


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


def _of_launchers(
    tops: list[tuple[Process, int | None]], children: Mapping[int, list[Process]], on_gpus: Collection[int]
) -> list[tuple[Process, int | None]]:
    found: list[tuple[Process, int | None]] = []
    for top, rank in tops:
        started: list[Process] = []
        if top.pid not in on_gpus:
            started = [child for child in children.get(top.pid, ()) if child.pid in on_gpus]
            if all(child.state == "Z" for child in started):
                started = _side_by_side(top, children.get(top.pid, ()))
        found += [(child, None) for child in started] or [(top, rank)]
    return found


def _side_by_side(top: Process, children: Iterable[Process]) -> list[Process]:
    """Return the children that run the same script, not that of their parent, and do most of the work.

    Processes of a pool, e.g. of multiprocessing or joblib, run no script.
    """
    by_name: dict[str, list[Process]] = {}
    for child in children:
        by_name.setdefault(program_name(child.argv, child.command), []).append(child)
    name, most = max(by_name.items(), key=lambda item: len(item[1]), default=("", []))
    is_script = " " in name and " -m " not in name and name != program_name(top.argv, top.command)
    used_s = sum(child.usage.own_s + child.usage.children_s for child in most)
    if len(most) > 1 and is_script and used_s > top.usage.own_s:
        return most
    return []


def _group(
    top: Process, rank: int | None, children: Mapping[int, list[Process]], stops: set[int]
) -> WorkerGroup:
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
    return WorkerGroup(top, main, tuple(members), rank)


_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # by the strength of the rank, see `rank_of`
_TORCH, _MPI, _SRUN = "torch", "MPI", "srun"
_MAX_GROUPS = 16


def rank_groups(workers: Iterable[WorkerGroup], before: Iterable[RankGroup]) -> tuple[RankGroup, ...]:
    """Return the groups of workers with a rank; ``before`` is the result of the last look.

    Left out: groups of unknown size or without a running worker, with two workers of one rank, or with a
    launcher that has not started its own workers.
    """
    found: dict[tuple[str, str, int], list[tuple[int, WorkerGroup, bool]]] = {}
    for worker in workers:
        if labelled := _label(worker):
            key, rank, needs_all = labelled
            found.setdefault(key, []).append((rank, worker, needs_all))
    earlier = {(each.launcher, each.name, each.size): each for each in before}
    groups = []
    for key, members in list(found.items())[:_MAX_GROUPS]:
        ranks = tuple(sorted(rank for rank, _, _ in members))
        mains = [worker.main for _, worker, _ in members]
        if len(set(ranks)) < len(ranks) or any(is_launcher(main.argv, main.command) for main in mains):
            continue
        new = RankGroup(
            *key, ranks, (), any(needs for _, _, needs in members), _is_sure(key[0], members[0][1])
        )
        known = earlier.get(key)
        seen = {*known.running, *known.ended} if known else set[int]()
        groups.append(replace(new, ended=tuple(sorted(seen - set(ranks)))))
    return tuple(groups)


def _label(worker: WorkerGroup) -> tuple[tuple[str, str, int], int, bool] | None:
    environment, found = worker.top.environment or {}, rank_of(worker.top)
    if found is None or not found[1] < (size := _size(environment, found[0])):
        return None
    strength, rank = found
    address = environment.get("MASTER_ADDR", "")
    if strength == 0:
        parts = (environment.get("TORCHELASTIC_RUN_ID", ""), address, environment.get("MASTER_PORT", ""))
        return (_TORCH, ":".join(parts), size), rank, True
    step = environment.get("SLURM_STEP_ID", "")
    if step and environment.get("SLURM_PROCID") == str(rank):
        return (_SRUN, step, size), rank, bool(address)
    name = environment.get("PMIX_NAMESPACE") or environment.get("OMPI_MCA_ess_base_jobid", "")
    return (_MPI, name, size), rank, bool(address)


def _size(environment: Mapping[str, str], strength: int) -> int:
    """Return the number of workers of a launch; 0: not known."""
    names = (*_SIZES[strength : strength + 1], *(("SLURM_STEP_NUM_TASKS",) if strength else ()))
    values = (environment.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdecimal()), 0)


def _is_sure(launcher: str, worker: WorkerGroup) -> bool:
    """A script may export RANK and WORLD_SIZE for one process."""
    return launcher != _TORCH or "TORCHELASTIC_RUN_ID" in (worker.top.environment or {})
