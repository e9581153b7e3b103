"""Jobs that end in all ways: arrays, requeues and het jobs, with CPUs and GPUs, watched by jobmon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.load_parts.user import BenchmarkUser, job_id

_TIMEOUT_S = 900.0
_HELD = "--hold"
_RESUMED = "resumed"  # a file in the user's folder
_STEP_S = 1.0
_ENDS = """case $((SLURM_ARRAY_TASK_ID % 4)) in
0) sleep 2;; 1) sleep 1; exit 3;; 2) sleep 1; kill -9 $$;; 3) sleep 4;;
esac"""
_ONCE = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { sleep 2; exit 77; }; sleep 1'  # 77 requeues
_OFTEN = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 600'
_MEMORY = """python3 -c 'x = bytearray(300 << 20); import time; time.sleep(5)'"""


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of job: how it is submitted, and what is done to it once it runs."""

    name: str
    tasks: int  # of the array; 0: no array
    body: str
    options: tuple[str, ...] = ()
    then: tuple[str, ...] = ()  # a Slurm command that takes the job id
    later: tuple[str, ...] = ()  # another one, some seconds later


def shapes(runs: int, *, memory: bool, time_outs: bool) -> Iterator[Shape]:
    """Yield jobs of about ``runs`` runs together, some of them out of memory or time."""
    few, some = max(2, runs // 40), max(2, runs // 10)
    yield Shape("ends-gpu", 3 * some, _ENDS, ("--gres=gpu:1", "-c3"))
    yield Shape("ends-cpu", 2 * some, _ENDS, ("-n2",))
    yield Shape("requeued", some, _ONCE, ("-n2", "--requeue"))
    yield Shape("cancelled", some, "sleep 600", (), ("scancel",))
    yield Shape("never-started", few, "sleep 1", (_HELD,), ("scancel",))
    yield Shape("one-at-once", few, "sleep 600", ("-plow", "-c64"), ("scancel",))
    for number in range(few):
        het = ("-n1", ":", "-n3", "--gres=gpu:1")
        yield Shape(f"het{number}", 0, f"sleep {number % 3 + 1}; exit {number % 2}", het)
    by_hand = ("scontrol", "requeue")
    yield Shape("requeued-by-hand", 0, _OFTEN, ("--requeue", "--gres=gpu:2"), by_hand)
    yield Shape("two-nodes", 0, "sleep 3", ("-N2", "-n4", "--gres=gpu:2"))
    suspend, resume = ("scontrol", "suspend"), ("scontrol", "resume")
    yield Shape("suspended", 0, f"until [ -e {_RESUMED} ]; do sleep 1; done", ("-c2",), suspend, resume)
    if memory:
        yield Shape("memory", few, _MEMORY, ("--mem=20", "--gres=gpu:1"))
    if time_outs:
        yield Shape("time-out", few, "sleep 600", ("-t1", "--gres=gpu:1"))


def run_all(user: BenchmarkUser, wanted: list[Shape]) -> dict[str, int]:
    """Submit the jobs, every third one before jobmon watches it; return their ids once all ends are told."""
    ids = {shape.name: _submit(user, shape, late=number % 3 == 1) for number, shape in enumerate(wanted)}
    for shape in wanted:
        if shape.then:
            if _HELD not in shape.options:
                _wait(partial(_runs, user, ids[shape.name]), f"{shape.name} runs")
            user.run([*shape.then, str(ids[shape.name])])
    time.sleep(5)  # for which one job is suspended
    for shape in wanted:
        if shape.later:
            user.run([*shape.later, str(ids[shape.name])])
    (user.folder / _RESUMED).touch()
    wait_until_done(user)
    return ids


def wait_until_done(user: BenchmarkUser) -> None:
    """Wait until jobmon has told all ends, and added all runs to the history."""
    _wait(lambda: not user.unfinished(), "all ends are told")


def _submit(user: BenchmarkUser, shape: Shape, *, late: bool) -> int:
    script = user.folder / f"{shape.name}.sh"
    script.write_text(f"#!/bin/bash\n{shape.body}\n", encoding="utf-8")
    array = (f"--array=0-{shape.tasks - 1}",) if shape.tasks else ()
    options = ("--output=/dev/null", *array, *shape.options, str(script))
    if not late:
        return job_id(user.jobmon("submit", *options))
    submitted = job_id(user.run(["sbatch", *options]))
    user.jobmon("watch", str(submitted))
    return submitted


def _runs(user: BenchmarkUser, job: int) -> bool:
    return "RUNNING" in user.run(["squeue", "-h", "-t", "all", "-j", str(job), "-o", "%T"])


def _wait(condition: Callable[[], bool], description: str) -> None:
    deadline_s = time.monotonic() + _TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise SystemExit(f"waited {_TIMEOUT_S:g} s in vain: {description}")
        time.sleep(_STEP_S)
