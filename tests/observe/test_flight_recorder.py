"""Dumps of PyTorch's flight recorder, written by a program that behaves as PyTorch does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmon_core.observe.stacks import copy_dumps

RANK_THAT_DUMPS = """\
import os
pipe, dump = os.environ["PIPE"] + "3.pipe", os.environ["DUMP"] + "3"
os.mkfifo(pipe)
reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
import select
select.select([reading], [], [])
open(dump, "wb").write(b"the calls of rank 3")
import signal
signal.pause()
"""
RANK_THAT_WAITS = "import signal; print('ready', flush=True); signal.pause()"


@contextmanager
def rank(program: str, **environment: str) -> Iterator[int]:
    """Run one rank until it is ready; return its PID."""
    command, variables = [sys.executable, "-c", program], {**os.environ, **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=variables) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


@pytest.mark.parametrize(
    ("size", "dump", "pipe"),
    [
        ("TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE", "TORCH_FR_DEBUG_INFO_PIPE_FILE"),
        (
            *("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"),
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
        ),
    ],
)
def test_a_rank_that_reads_its_pipe_dumps_what_it_called(
    tmp_path: Path, size: str, dump: str, pipe: str
) -> None:
    own, copies = str(tmp_path / "trace_"), tmp_path / "copies"
    copies.mkdir()
    names = {size: "2000", dump: own, pipe: own, "DUMP": own, "PIPE": own}
    with rank(RANK_THAT_DUMPS, **names) as pid:
        (copy,) = copy_dumps({pid: 3}, copies, "n1")
    assert copy == str(copies / "n1-rank-3.dump")
    assert Path(copy).read_bytes() == b"the calls of rank 3"


def test_a_dump_that_was_written_at_a_time_out_is_copied_too(tmp_path: Path) -> None:
    own = tmp_path / "trace_0"
    with rank(
        RANK_THAT_WAITS, TORCH_FR_BUFFER_SIZE="9", TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "trace_")
    ) as pid:
        own.write_bytes(b"at the time-out")
        os.utime(own, (time.time() + 2, time.time() + 2))  # clocks of files are coarse
        assert copy_dumps({pid: 0}, tmp_path, "n1") == (str(tmp_path / "n1-rank-0.dump"),)


def test_a_dump_of_an_earlier_run_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "trace_0"
    own.write_bytes(b"yesterday")
    os.utime(own, (time.time() - 86400, time.time() - 86400))
    with rank(
        RANK_THAT_WAITS, TORCH_FR_BUFFER_SIZE="9", TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "trace_")
    ) as pid:
        assert copy_dumps({pid: 0}, tmp_path, "n1") == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_dump_of_another_user_is_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "trace_0"
    with rank(
        RANK_THAT_WAITS, TORCH_FR_BUFFER_SIZE="9", TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "trace_")
    ) as pid:
        own.write_bytes(b"of somebody's rank 0")
        os.utime(own, (time.time() + 2, time.time() + 2))
        os.chown(own, 4711, -1)
        assert copy_dumps({pid: 0}, tmp_path, "n1") == ()


def test_a_program_without_flight_recorder_has_no_dumps(tmp_path: Path) -> None:
    (tmp_path / "trace_0").write_bytes(b"what")
    with rank(
        RANK_THAT_WAITS, TORCH_FR_BUFFER_SIZE="0", TORCH_FR_DUMP_TEMP_FILE=str(tmp_path / "trace_")
    ) as pid:
        assert copy_dumps({pid: 0}, tmp_path, "n1") == ()
