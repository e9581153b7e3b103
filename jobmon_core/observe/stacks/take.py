"""Find the Python processes of a task on this node, with their ranks, and have py-spy print their stacks."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.triage.stacks import (
    KEPT_VARIABLES,
    Candidate,
    NodeStacks,
    Stack,
    parse_environment,
    to_dump,
)
from jobmon_core.observe.stacks.flight_recorder import copy_dumps
from jobmon_core.system.process import read_stat
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.system.runner import Runner

_PROC = Path("/proc")
_EACH_S, _ALL_S = 10.0, 45.0  # time limits
_MAX_CHARS = 20_000  # of one process
_MISSING = (
    "py-spy is not installed where the job runs; install it with `pip install py-spy` in the environment of "
    "the job or of jobmon"
)


def take_stacks(runner: Runner, node: str, job_id: str, pids: Sequence[int], folder: Path) -> NodeStacks:
    """Return the stacks of a task on this node.

    Args:
        runner: starts py-spy.
        node: the name of this node.
        job_id: SLURM_JOB_ID in the environment of the task's processes; empty if it has none.
        pids: the first processes of a task without a ``job_id``.
        folder: for copies of the dumps of PyTorch's flight recorder.
    """
    now_s = time.time()
    targets = to_dump(_candidates(job_id, frozenset(pids)))
    if not targets:
        return NodeStacks(now_s, problem=f"{node}: no Python process of the job")
    ranks = {process.pid: rank for process, rank in targets if rank is not None}
    program = _py_spy(each.pid for each, _ in targets)
    if not program:
        return NodeStacks(now_s, (), f"{node}: {_MISSING}", copy_dumps(ranks, folder, node))
    began_s = time.monotonic()
    stacks = []
    for process, rank in targets:
        left_s = _ALL_S - (time.monotonic() - began_s)
        text, problem = _dump(runner, program, process.pid, left_s)
        stacks.append(Stack(node, process.pid, rank, " ".join(process.argv)[:200], text, problem))
    return NodeStacks(now_s, tuple(stacks), dumps=copy_dumps(ranks, folder, node))


def _dump(runner: Runner, program: str, pid: int, left_s: float) -> tuple[str, str]:
    """Return the stack of a process, and why there is none: one of the two is empty.

    The process is not paused.
    """
    if left_s <= 0:
        return "", "left out: the other processes took too long"
    argv = (program, "dump", "--nonblocking", "--pid", str(pid))
    result = runner.capture(argv, min(_EACH_S, left_s))
    return (result.stdout[:_MAX_CHARS], "") if succeeded(result) else ("", result.error_text)


def _candidates(job_id: str, pids: frozenset[int]) -> list[Candidate]:
    """Return the processes of a task, sorted by PID."""
    own = {each.pid: each for each in _own_processes()}
    if job_id:
        return [each for each in own.values() if each.environment.get("SLURM_JOB_ID") == job_id]
    return [each for each in own.values() if pids & set(_with_ancestors(each.pid, own))]


def _with_ancestors(pid: int, own: dict[int, Candidate]) -> Iterator[int]:
    while pid in own:
        yield pid
        pid = own[pid].parent


def _own_processes() -> Iterator[Candidate]:
    for pid in sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()):
        try:
            if (_PROC / str(pid)).stat().st_uid == os.getuid():
                yield _candidate(pid)
        except OSError:
            continue  # it has just ended, or may not be read


def _candidate(pid: int) -> Candidate:
    folder, stat = _PROC / str(pid), read_stat(pid)
    argv = os.fsdecode((folder / "cmdline").read_bytes()).rstrip("\0").split("\0")
    environment = parse_environment((folder / "environ").read_bytes())
    ranks = {name: environment[name] for name in KEPT_VARIABLES if name in environment}
    program = Path(os.readlink(folder / "exe")).name  # noqa: PTH115 - of a removed program too
    return Candidate(pid, stat.parent if stat else 0, tuple(argv), ranks, program.startswith("python"))


def _py_spy(pids: Iterable[int]) -> str:
    """Return the path of py-spy: on PATH, beside jobmon's Python, or as one of these processes finds it."""
    paths = [os.environ.get("PATH", ""), str(Path(sys.executable).parent)]
    for pid in pids:
        try:
            environment = parse_environment((_PROC / str(pid) / "environ").read_bytes())
            argv0 = (_PROC / str(pid) / "cmdline").read_bytes().partition(b"\0")[0]
        except OSError:
            continue  # it has just ended
        paths += [environment.get("PATH", ""), str(Path(os.fsdecode(argv0)).parent)]
    return next((found for path in paths if (found := shutil.which("py-spy", path=path))), "")
