"""Which ranks of each launch run on a node, and how many there should be."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon_core.domain.node.telemetry.model import RankGroup
from jobmon_core.domain.node.telemetry.processes import Process
from jobmon_core.domain.node.telemetry.workers import find_workers, rank_groups


def process(pid: int, environment: dict[str, str], program: str = "./sim", parent: int = 1) -> Process:
    return Process(pid, parent, pid * 10, program[:15], (program,), environment)


def step(rank: int, **more: str) -> dict[str, str]:
    found = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": str(rank)}
    return {**found, **more}


def groups(*processes: Process, before: Sequence[RankGroup] = ()) -> tuple[RankGroup, ...]:
    return rank_groups(find_workers({each.pid: each for each in processes}), before)


def test_the_tasks_of_a_step_of_srun_are_a_group_of_the_size_of_the_step() -> None:
    tasks = [process(20 + rank, step(rank)) for rank in (0, 1, 3)]
    assert groups(*tasks) == (RankGroup("srun", "0", 4, (0, 1, 3)),)


def test_a_rank_that_was_seen_and_is_gone_has_ended() -> None:
    tasks = [process(20 + rank, step(rank)) for rank in range(4)]
    before = groups(*tasks)
    assert groups(*tasks[:3], before=before) == (RankGroup("srun", "0", 4, (0, 1, 2), (3,)),)
    assert groups(before=before) == (), "all have ended: the launch is over"


def test_pytorch_ranks_in_a_step_are_those_of_pytorch_and_all_are_needed() -> None:
    env = {"WORLD_SIZE": "8", "MASTER_ADDR": "n1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}
    agents = [process(20 + node, step(node), "torchrun") for node in range(2)]
    ranks = [process(30 + rank, step(0, **env, RANK=str(rank)), parent=20) for rank in range(4)]
    assert groups(agents[0], *ranks) == (
        RankGroup("torch", "none:n1:29500", 8, (0, 1, 2, 3), needs_all=True),
    )


def test_a_script_that_exports_a_rank_for_one_process_is_not_a_sure_launch() -> None:
    (group,) = groups(process(20, {"WORLD_SIZE": "4", "RANK": "0", "MASTER_ADDR": "localhost"}))
    assert not group.is_sure


def test_srun_of_a_program_with_a_master_address_needs_all_ranks() -> None:
    (group,) = groups(*(process(20 + rank, step(rank, MASTER_ADDR="n1")) for rank in range(4)))
    assert (group.launcher, group.needs_all) == ("srun", True)


def test_the_size_of_an_mpi_launch_is_that_of_its_library() -> None:
    open_mpi = {"OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "prterun-7"}
    tasks = [process(20 + rank, {"OMPI_COMM_WORLD_RANK": str(rank), **open_mpi}) for rank in range(2)]
    assert groups(*tasks) == (RankGroup("MPI", "prterun-7", 2, (0, 1)),)
    mpich = [process(20 + rank, {"PMI_RANK": str(rank), "PMI_SIZE": "2"}) for rank in range(2)]
    assert groups(*mpich) == (RankGroup("MPI", "", 2, (0, 1)),)
    in_step = [process(20 + rank, step(rank, PMI_RANK=str(rank), PMI_SIZE="4")) for rank in range(4)]
    assert groups(*in_step) == (RankGroup("srun", "0", 4, (0, 1, 2, 3)),)


def test_what_cannot_be_counted_is_left_out() -> None:
    twice = [process(20 + number, {"PMI_RANK": "0", "PMI_SIZE": "2"}) for number in range(2)]
    assert groups(*twice) == (), "two launches, it seems"
    assert groups(process(20, {"RANK": "3"})) == (), "no size"
    waiting = [process(20 + rank, step(rank), "torchrun") for rank in range(4)]
    assert groups(*waiting) == (), "each waits for the others, without workers yet"
    assert groups(process(20, {"RANK": "7", "WORLD_SIZE": "4"})) == (), "a rank beyond the size"
