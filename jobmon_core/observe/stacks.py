"""Find the Python processes of a task on this node, with their ranks, and have py-spy print their stacks.

A program of its own, ``python -m jobmon_core.observe.stacks``, since it runs on the nodes of a job. Options:
``--folder=FOLDER --job=ID|--pid=N... [--node=NAME]``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.job.own_files import Origin, OwnFiles
from jobmon_core.domain.node.telemetry.processes import Process
from jobmon_core.domain.node.triage.stacks import (
    KEPT_VARIABLES,
    Stack,
    Stacks,
    parse_environment,
    to_dump,
)
from jobmon_core.system.files import write_atomically
from jobmon_core.system.json_codec import to_json
from jobmon_core.system.process import read_stat, start_ticks
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


# PyTorch's flight recorder: the latest collective operations of each rank, if ``TORCH_FR_BUFFER_SIZE`` is
# above 0. It dumps them to the file ``TORCH_FR_DUMP_TEMP_FILE`` followed by the rank, at a time-out, or when
# somebody writes to the pipe ``TORCH_FR_DEBUG_INFO_PIPE_FILE`` followed by the rank and ``.pipe``. Older
# versions read the second name in each pair below.
# Source: torch/csrc/distributed/c10d/FlightRecorder.cpp and ProcessGroupNCCL.hpp in the sources of PyTorch.
#
# A dump is a pickle, which could run any code: jobmon copies it, and never loads it. PyTorch's program
# ``torchfrtrace`` reads it.
_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
_DUMPS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_PIPES = ("TORCH_FR_DEBUG_INFO_PIPE_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
_OLD_DEFAULT = "/tmp/nccl_trace_rank_"  # noqa: S108 - where PyTorch writes
_WRITTEN_WITHIN_S, _STEP_S = 5.0, 0.1
_MAX_BYTES = 16 * 2**20  # a larger dump of a rank is not copied

_PROC = Path("/proc")
_EACH_S, _ALL_S = 10.0, 45.0  # time limits
_MAX_CHARS = 20_000  # of one process
_MISSING = (
    "py-spy is not installed where the job runs; install it with `pip install py-spy` in the environment of "
    "the job or of jobmon"
)


def take_stacks(runner: Runner, node: str, job_id: str, pids: Sequence[int], folder: Path) -> Stacks:
    """Return the stacks of a task on this node."""
    targets = to_dump(_candidates(job_id, frozenset(pids)))
    if not targets:
        return Stacks(problems=(f"{node}: no Python process of the job",))
    ranks = {process.pid: rank for process, rank in targets if rank is not None}
    program = _py_spy(each.pid for each, _ in targets)
    if not program:
        return Stacks((), (f"{node}: {_MISSING}",), copy_dumps(ranks, folder, node))
    began_s = time.monotonic()
    stacks = []
    for process, rank in targets:
        left_s = _ALL_S - (time.monotonic() - began_s)
        text, problem = _dump(runner, program, process.pid, left_s)
        stacks.append(Stack(node, process.pid, rank, " ".join(process.argv)[:200], text, problem))
    return Stacks(tuple(stacks), dumps=copy_dumps(ranks, folder, node))


def _dump(runner: Runner, program: str, pid: int, left_s: float) -> tuple[str, str]:
    """Return the stack of a process, which is not paused, or why there is none."""
    if left_s <= 0:
        return "", "left out: the other processes took too long"
    argv = (program, "dump", "--nonblocking", "--pid", str(pid))
    result = runner.capture(argv, min(_EACH_S, left_s))
    if succeeded(result):
        return (result.stdout[:_MAX_CHARS], "")
    return ("", result.error_text)


def _candidates(job_id: str, pids: frozenset[int]) -> list[Process]:
    own = {each.pid: each for each in _own_processes()}
    if job_id:
        return [each for each in own.values() if (each.environment or {}).get("SLURM_JOB_ID") == job_id]
    return [each for each in own.values() if pids & set(_with_ancestors(each.pid, own))]


def _with_ancestors(pid: int, own: dict[int, Process]) -> Iterator[int]:
    while pid in own:
        yield pid
        pid = own[pid].parent


def _own_processes() -> Iterator[Process]:
    for pid in sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()):
        try:
            if (_PROC / str(pid)).stat().st_uid == os.getuid():
                yield _candidate(pid)
        except OSError:
            continue  # it has just ended, or may not be read


def _candidate(pid: int) -> Process:
    folder, stat = _PROC / str(pid), read_stat(pid)
    argv = os.fsdecode((folder / "cmdline").read_bytes()).rstrip("\0").split("\0")
    environment = parse_environment((folder / "environ").read_bytes())
    ranks = {name: environment[name] for name in KEPT_VARIABLES if name in environment}
    program = Path(os.readlink(folder / "exe")).name  # noqa: PTH115 - of a removed program too
    parent, started = (stat.parent, stat.start_ticks) if stat else (0, 0)
    return Process(pid, parent, started, program, tuple(argv), ranks)


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


class _Recorder(NamedTuple):
    """The flight recorder of one rank."""

    rank: int
    started_s: float  # of the process: what is older is another run's
    dumps: tuple[Path, ...]  # where a dump may be
    pipe: Path | None

    def newest(self, since_s: float) -> Path | None:
        """Return the latest dump that was written after ``since_s``."""
        # anybody may have written to the folder for temporary files, the default
        own, found = OwnFiles(since_s, origin=Origin.FOUND, uid=os.geteuid(), early_s=0.0), []
        for path in self.dumps:
            with suppress(OSError):
                status = path.stat()
                if own.include(status.st_mtime, status.st_uid):
                    found.append((status.st_mtime, path))
        latest_s, path = max(found, default=(0.0, Path()))
        if latest_s > since_s:
            return path
        return None


def copy_dumps(ranks: Mapping[int, int], folder: Path, node: str) -> tuple[str, ...]:
    """Make the ranks dump their flight recorders, if they run them, and copy the dumps."""
    recorders = [recorder for pid, rank in ranks.items() if (recorder := _recorder(pid, rank))]
    asked_s = time.time()
    asked = [recorder for recorder in recorders if _ask(recorder)]
    until_s = time.monotonic() + _WRITTEN_WITHIN_S
    while any(each.newest(asked_s) is None for each in asked) and time.monotonic() < until_s:
        time.sleep(_STEP_S)
    return tuple(_copies(recorders, folder, node))


def _recorder(pid: int, rank: int) -> _Recorder | None:
    try:
        environment = parse_environment(Path(f"/proc/{pid}/environ").read_bytes())
    except OSError:
        return None  # it has just ended
    ticks = start_ticks(pid)
    if ticks is None or _first(environment, _SIZES) in ("", "0"):
        return None
    boot_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    prefix, pipe = _first(environment, _DUMPS), _first(environment, _PIPES)
    cache = environment.get("XDG_CACHE_HOME") or f"{environment.get('HOME', '')}/.cache"
    prefixes = (prefix,) if prefix else (_OLD_DEFAULT, f"{cache}/torch/comm_lib_trace_rank_")
    return _Recorder(
        rank,
        boot_s + ticks / os.sysconf("SC_CLK_TCK"),
        tuple(Path(f"{each}{rank}") for each in prefixes),
        Path(f"{pipe}{rank}.pipe") if pipe else None,
    )


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _ask(recorder: _Recorder) -> bool:
    """Ask a rank for a dump; return whether it reads its pipe, so that the request reaches it."""
    if recorder.pipe is None or not recorder.pipe.is_fifo():
        return False
    try:
        descriptor = os.open(recorder.pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # nobody reads it
        return False
    try:
        return os.write(descriptor, b"1\n") > 0
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _copies(recorders: list[_Recorder], folder: Path, node: str) -> Iterator[str]:
    for recorder in recorders:
        dump, copy = recorder.newest(recorder.started_s), folder / f"{node}-rank-{recorder.rank}.dump"
        with suppress(OSError):  # it was removed, or the disk is full: the stacks are worth more
            if dump and dump.stat().st_size <= _MAX_BYTES:
                shutil.copyfile(dump, copy)
                yield str(copy)


_NAMES = ("folder", "job", "pid", "node")


def main(arguments: list[str]) -> None:
    """Write the stacks to a file in the folder, named after the node."""
    options = [argument.removeprefix("--").split("=", 1) for argument in arguments]
    values = {name: [each for key, each in options if key == name] for name in _NAMES}
    name = "".join(values["node"]) or os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    node, folder = name.replace("/", "_"), Path("".join(values["folder"]))
    taken = take_stacks(Runner(), node, "".join(values["job"]), [int(pid) for pid in values["pid"]], folder)
    write_atomically(folder / f"{node}.json", json.dumps(to_json(taken)).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
