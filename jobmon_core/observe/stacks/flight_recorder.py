"""Copies what PyTorch's flight recorder holds: the latest collective operations of each rank.

PyTorch records them if ``TORCH_FR_BUFFER_SIZE`` is above 0. It dumps them to the file
``TORCH_FR_DUMP_TEMP_FILE`` followed by the rank, at a time-out, or when somebody writes to the pipe
``TORCH_FR_DEBUG_INFO_PIPE_FILE`` followed by the rank and ``.pipe``. Older versions read
``TORCH_NCCL_TRACE_BUFFER_SIZE``, ``TORCH_NCCL_DEBUG_INFO_TEMP_FILE`` and ``TORCH_NCCL_DEBUG_INFO_PIPE_FILE``.
Source: torch/csrc/distributed/c10d/FlightRecorder.cpp and ProcessGroupNCCL.hpp in the sources of PyTorch.

A dump is a pickle, which could run any code: jobmon copies it, and never loads it. PyTorch's program
``torchfrtrace`` reads it.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.triage.stacks import parse_environment
from jobmon_core.system.process import start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
_DUMPS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_PIPES = ("TORCH_FR_DEBUG_INFO_PIPE_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE")
_OLD_DEFAULT = "/tmp/nccl_trace_rank_"  # noqa: S108 - where PyTorch writes
_WRITTEN_WITHIN_S, _STEP_S = 5.0, 0.1
_MAX_BYTES = 16 * 2**20  # a larger dump of a rank is not copied


class _Recorder(NamedTuple):
    """The flight recorder of one rank."""

    rank: int
    started_s: float  # of the process (Unix seconds): what is older is another run's
    dumps: tuple[Path, ...]  # where a dump may be
    pipe: Path | None

    def newest(self, since_s: float) -> Path | None:
        """Return the latest dump that was written after ``since_s`` (Unix seconds); None if none was."""
        found = []
        for path in self.dumps:
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
        latest_s, path = max(found, default=(0.0, Path()))
        return path if latest_s > since_s else None


def copy_dumps(ranks: Mapping[int, int], folder: Path, node: str) -> tuple[str, ...]:
    """Make the ranks dump their flight recorders, if they run them, and copy the dumps.

    Args:
        ranks: by PID.
        folder: for the copies.
        node: the name of this node.

    Returns:
        The paths of the copies.
    """
    recorders = [recorder for pid, rank in ranks.items() if (recorder := _recorder(pid, rank))]
    asked_s = time.time()
    asked = [recorder for recorder in recorders if _ask(recorder)]
    until_s = time.monotonic() + _WRITTEN_WITHIN_S
    while any(each.newest(asked_s) is None for each in asked) and time.monotonic() < until_s:
        time.sleep(_STEP_S)
    return tuple(_copies(recorders, folder, node))


def _recorder(pid: int, rank: int) -> _Recorder | None:
    """Return the flight recorder of a process; None if it runs none."""
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
