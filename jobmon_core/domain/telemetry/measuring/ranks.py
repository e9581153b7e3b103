"""How many workers a launcher was asked for, and which of them run on this node.

torchrun, accelerate and deepspeed set RANK and WORLD_SIZE (PyTorch's documentation, "torchrun: Environment
Variables"), Open MPI OMPI_COMM_WORLD_SIZE, MPICH and Intel MPI PMI_SIZE, srun SLURM_STEP_NUM_TASKS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.measuring.programs import is_launcher
from jobmon_core.domain.telemetry.measuring.workers import rank_of
from jobmon_core.domain.telemetry.model import RankGroup

if TYPE_CHECKING:
    from jobmon_core.domain.telemetry.measuring.workers import Group

_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # by the strength of the rank, see `rank_of`
_TORCH, _MPI, _SRUN = "torch", "MPI", "srun"
_MAX_GROUPS = 16


def rank_groups(workers: Iterable[Group], before: Iterable[RankGroup]) -> tuple[RankGroup, ...]:
    """Return the groups of the workers that have a rank; ``before`` is the result of the last look.

    A group is left out if none of its workers runs, if its size is not known, if two workers have the same
    rank, or if one of them is a launcher that has not started its own workers.
    """
    found: dict[tuple[str, str, int], list[tuple[int, Group, bool]]] = {}
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


def _label(worker: Group) -> tuple[tuple[str, str, int], int, bool] | None:
    """Return the launcher, name and size of a worker's group, its rank, and whether all must run."""
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
    """Return the number of workers of a launch; 0 if it is not known."""
    names = (*_SIZES[strength : strength + 1], *(("SLURM_STEP_NUM_TASKS",) if strength else ()))
    values = (environment.get(name, "") for name in names)
    return next((int(value) for value in values if value.isdecimal()), 0)


def _is_sure(launcher: str, worker: Group) -> bool:
    """Whether a launcher certainly set the size: a script may export RANK and WORLD_SIZE for one process."""
    return launcher != _TORCH or "TORCHELASTIC_RUN_ID" in (worker.top.environment or {})
