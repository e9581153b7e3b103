"""The stacks of all ranks, and the rank that did not arrive."""

from __future__ import annotations

from jobmon_core.domain.node.telemetry.processes import Process
from jobmon_core.domain.node.triage.stacks import Stack, compare, to_dump

DUMP = """\
Process 17: python train.py
Python v3.11.2 (/usr/bin/python3.11)

Thread 18 (active): "pin_memory"
    select (selectors.py:415)
Thread 17 (idle): "MainThread"
    {function} (train.py:{line})
    train (train.py:40)
    <module> (train.py:60)
"""


def stack(rank: int, function: str = "all_reduce", line: int = 12) -> Stack:
    return Stack("n1", 100 + rank, rank, text=DUMP.format(function=function, line=line))


def test_the_frames_are_those_of_the_main_thread() -> None:
    assert stack(0).frames == ("all_reduce (train.py:12)", "train (train.py:40)", "<module> (train.py:60)")
    assert Stack("n1", 7, text="Error: no such process").frames == ()


def test_the_rank_that_did_not_arrive_is_named_even_of_two() -> None:
    text, odd = compare([stack(0), stack(1, "load_next_batch", 33)])
    assert odd == ("rank 1",)
    assert text == (
        "rank 1 did not arrive: it is at load_next_batch (train.py:33); "
        "the other waits in all_reduce (train.py:12)"
    )
    assert compare([*(stack(rank) for rank in range(7)), stack(7, "read_shard")])[1] == ("rank 7",)


def test_ranks_that_are_all_in_the_same_place() -> None:
    assert compare([stack(0), stack(1), stack(2)]) == ("all 3 are at all_reduce (train.py:12)", ())


def test_ranks_that_compute_are_each_elsewhere() -> None:
    found = compare([stack(rank, "forward", rank) for rank in range(4)])
    assert found == ("the ranks are at different places, as in a program that computes", ())


def test_one_rank_in_another_place_of_the_computation() -> None:
    text, odd = compare([stack(0, "save", 5), *(stack(rank, "forward") for rank in (1, 2, 3))])
    assert odd == ("rank 0",)
    assert text == "rank 0 is at save (train.py:5); 3 others are at forward (train.py:12)"


def test_one_stack_alone_shows_nothing() -> None:
    assert compare([stack(0), Stack("n1", 5, 1, problem="Permission denied")]) == ("", ())


def process(pid: int, parent: int = 1, name: str = "python", **environment: str) -> Process:
    return Process(pid, parent, 0, argv=(name, "train.py"), environment=environment)


def test_of_each_rank_its_first_process_is_taken() -> None:
    launcher = process(10, SLURM_PROCID="0")
    ranks = [process(20 + rank, 10, SLURM_PROCID="0", RANK=str(rank)) for rank in (1, 0)]
    loaders = [process(30, 20, RANK="0"), process(31, 21, RANK="1")]
    taken = to_dump([launcher, *ranks, *loaders, process(40, name="/bin/bash")])
    assert [(each.pid, rank) for each, rank in taken] == [(20, 0), (21, 1)]


def test_without_ranks_all_python_processes_are_taken_but_few() -> None:
    tracker = Process(9, 1, 0, argv=("python", "-c", "from multiprocessing.resource_tracker import main"))
    agent = Process(8, 1, 0, argv=("python", "-m", "jobmon_core.agent"))
    assert [each.pid for each, _ in to_dump([tracker, agent, process(7, name="/opt/x/bin/python3.12")])] == [
        7
    ]
    assert len(to_dump([process(pid) for pid in range(100)])) == 16
