"""Which processes of a task are its workers."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.node.telemetry.model import Worker
from jobmon_core.domain.node.telemetry.processes import MeasuredTask, Process, Usage, task_processes
from jobmon_core.domain.node.telemetry.workers import Gone, WorkerGroup, find_workers, still_missed


def process(pid: int, parent: int, *argv: str, state: str = "S", **environment: str) -> Process:
    return Process(pid, parent, pid * 10, argv[0].rpartition("/")[2][:15], argv, environment, state)


def workers(*processes: Process) -> list[tuple[int, int | None, int]]:
    """Return the PID, the rank and the number of descendants of each worker."""
    groups = find_workers({each.pid: each for each in processes})
    return [(group.main.pid, group.rank, len(group.members) - 1) for group in groups]


SCRIPT = process(10, 1, "/bin/bash", "/var/spool/slurmd/job00007/slurm_script")


def test_the_worker_of_a_script_is_what_the_script_runs() -> None:
    train = process(11, 10, "/usr/bin/python3", "-u", "code/train.py", "--token", "secret")
    loaders = [process(pid, 11, "/usr/bin/python3", "-u", "code/train.py") for pid in (12, 13)]
    assert workers(SCRIPT, train, *loaders) == [(11, None, 2)]
    (group,) = find_workers({each.pid: each for each in (SCRIPT, train, *loaders)})
    assert group.name == "python3 train.py"


def test_each_rank_of_torchrun_is_a_worker_and_its_loaders_belong_to_it() -> None:
    torchrun = process(11, 10, "python", "/env/bin/torchrun", "train.py")
    ranks = [process(20 + rank, 11, "python", "train.py", RANK=str(rank)) for rank in (0, 1)]
    loaders = [process(30 + rank, 20 + rank, "python", "train.py", RANK=str(rank)) for rank in (0, 1)]
    assert workers(SCRIPT, torchrun, *ranks, *loaders) == [(20, 0, 1), (21, 1, 1)]


def test_the_children_of_a_program_that_hold_the_gpus_in_its_place_are_the_workers() -> None:
    spawn = process(11, 10, "/usr/bin/python3", "train.py")
    children = [
        process(pid, 11, "/usr/bin/python3", "-c", "from multiprocessing.spawn import x") for pid in (12, 13)
    ]
    loader = process(14, 12, "/usr/bin/python3", "-c", "from multiprocessing.spawn import x")
    table = {each.pid: each for each in (SCRIPT, spawn, *children, loader)}
    launched = find_workers(table, {12, 13})
    assert [(group.main.pid, len(group.members) - 1) for group in launched] == [(12, 1), (13, 0)]
    table[13] = replace(table[13], state="Z")  # it has ended, and counted until then
    assert [group.main.pid for group in find_workers(table, {12, 13})] == [12, 13]
    for on_gpus in ((), (11,), (11, 12)):  # loaders, also of a program that has not opened its GPU yet
        assert [group.main.pid for group in find_workers(table, on_gpus)] == [11]


def test_the_children_that_run_another_script_and_do_the_work_are_the_workers() -> None:
    launcher = replace(process(11, 10, "/usr/bin/python3", "launch.py"), usage=Usage(own_s=1.0))
    children = [
        replace(process(pid, 11, "/usr/bin/python3", "embed.py", str(pid)), usage=Usage(own_s=30.0))
        for pid in (12, 13)
    ]
    assert workers(SCRIPT, launcher, *children) == [(12, None, 0), (13, None, 0)]
    busy = replace(launcher, usage=Usage(own_s=100.0))
    assert workers(SCRIPT, busy, *children) == [(11, None, 2)]
    assert workers(SCRIPT, launcher, children[0]) == [(11, None, 1)]
    pool = [replace(each, argv=("python3", "-m", "joblib.externals.loky.backend")) for each in children]
    assert workers(SCRIPT, launcher, *pool) == [(11, None, 2)]
    copies = [replace(each, argv=("python3", "launch.py")) for each in children]
    assert workers(SCRIPT, launcher, *copies) == [(11, None, 2)]


def test_a_launcher_with_a_rank_of_its_own_is_no_worker() -> None:
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}
    torchrun = process(11, 1, "python", "-m", "torch.distributed.run", "train.py", **step)
    ranks = [process(20 + rank, 11, "python", "train.py", RANK=str(rank), **step) for rank in (4, 5)]
    assert workers(torchrun, *ranks) == [(24, 4, 0), (25, 5, 0)]


def test_a_task_of_a_step_is_a_worker_named_after_its_program_not_its_shell() -> None:
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}
    shells = [process(20 + rank, 1, "bash", "-c", "./sim", SLURM_PROCID=str(rank), **step) for rank in (0, 1)]
    programs = [process(30 + rank, 20 + rank, "./sim", SLURM_PROCID=str(rank), **step) for rank in (0, 1)]
    assert workers(*shells, *programs) == [(30, 0, 1), (31, 1, 1)]


def test_the_rank_of_a_step_with_one_task_means_nothing() -> None:
    step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}
    assert workers(process(20, 1, "python", "a.py", **step)) == [(20, None, 0)]
    batch = process(20, 1, "python", "a.py", SLURM_PROCID="0", SLURM_NTASKS="4")
    assert workers(batch) == [(20, None, 0)]


def test_programs_that_a_script_runs_side_by_side_are_workers_without_what_accompanies_them() -> None:
    first, second = process(11, 10, "python", "a.py"), process(12, 10, "python", "b.py")
    assert workers(SCRIPT, first, second, process(13, 10, "tee", "log")) == [(11, None, 0), (12, None, 0)]


def test_a_script_that_does_the_work_itself_is_the_worker() -> None:
    assert workers(SCRIPT) == [(10, None, 0)]
    assert workers(SCRIPT, process(11, 10, "sleep", "60")) == [(11, None, 0)]


def test_a_rank_that_ended_is_missed_until_another_process_has_it() -> None:
    gone = Gone(Worker(20, "python train.py", 1), 200)
    zero, new = process(30, 1, "python", "train.py", RANK="0"), process(31, 1, "python", "train.py", RANK="1")
    assert still_missed([gone], groups(zero)) == (gone,)
    assert still_missed([gone], groups(zero, new)) == ()


def test_of_a_sequence_of_programs_only_the_running_one_counts() -> None:
    gone = Gone(Worker(20, "python train.py"), 200)
    assert still_missed([gone], groups(process(30, 1, "python", "train.py"))) == ()
    assert still_missed([gone], groups(process(15, 1, "python", "train.py"))) == (gone,)  # beside it
    started_with_it = replace(gone, seen_ticks=500)
    assert still_missed([started_with_it], groups(process(30, 1, "python", "train.py"))) == (started_with_it,)


def groups(*processes: Process) -> tuple[WorkerGroup, ...]:
    return find_workers({each.pid: each for each in processes})


JOB = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1"}
TARGET = MeasuredTask("7", node="n1", own_pids=frozenset({90}), own_step="3")


def found(*processes: Process, target: MeasuredTask = TARGET, known: tuple[Process, ...] = ()) -> set[int]:
    return set(task_processes(processes, target, [each.key for each in known]))


def test_the_processes_of_a_job_are_found_by_their_environment_and_their_parents() -> None:
    script, clean = process(10, 5, "bash", **JOB), process(11, 10, "python")  # started by env -i
    other = process(12, 5, "bash", SLURM_JOB_ID="8", SLURMD_NODENAME="n1")
    assert found(script, clean, other) == {10, 11}


def test_the_processes_of_another_node_on_this_host_are_left_out() -> None:
    other = process(12, 5, "bash", SLURM_JOB_ID="7", SLURMD_NODENAME="n2")
    assert found(process(10, 5, "bash", **JOB), other) == {10}


def test_neither_the_agent_nor_its_step_nor_the_daemon_of_a_step_belongs_to_the_task() -> None:
    agent = process(90, 89, "python", SLURM_STEP_ID="3", **JOB)
    stacks = process(91, 89, "py-spy", SLURM_STEP_ID="3", **JOB)
    daemon = process(89, 5, "slurmstepd", **JOB)
    assert found(agent, stacks, daemon, process(10, 5, "bash", **JOB)) == {10}


def test_a_process_that_loses_its_parent_still_belongs_to_the_task() -> None:
    orphan = process(11, 1, "python")
    target = MeasuredTask(pids=frozenset({10}))
    assert found(orphan, target=target, known=(orphan,)) == {11}
    assert found(process(10, 1, "bash"), orphan, target=target) == {10}
