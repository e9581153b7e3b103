"""Where the core dump of a program that crashed is."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.core_dumps import newest_core_dump, with_core_dump
from jobmon_core.domain.job.own_files import OwnFiles
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.states import JobState, Outcome

STARTED_S = 1_763_999_000
CRASH = End(
    JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=139, started_s=STARTED_S, nodes="n7"
)
FOUND = Diagnosis("segfault", "Segmentation fault (SIGSEGV)", "It crashed.", "Set PYTHONFAULTHANDLER=1.")
CORE = b"\x7fELF" + bytes(12) + b"\x04\x00" + bytes(4096)
PROGRAM = b"\x7fELF" + bytes(12) + b"\x02\x00" + bytes(4096)
FILES = "core"


def advice(folder: Path, end: End = CRASH, pattern: str = FILES) -> str:
    job = WatchedJob("12", 12, 0.0, workdir=str(folder), tasks={"": (task := Task("", end=end))})
    return with_core_dump(FOUND, job, task, pattern).advice


def put(path: Path, content: bytes = CORE, at_s: float = STARTED_S + 60) -> Path:
    path.write_bytes(content)
    os.utime(path, (at_s, at_s))
    return path


def test_the_newest_core_dump_of_the_run_is_named(tmp_path: Path) -> None:
    put(tmp_path / "core.1", at_s=STARTED_S + 10)
    newest = put(tmp_path / "python.core")
    put(tmp_path / "core.0", at_s=STARTED_S - 60)  # of an earlier run
    put(tmp_path / "core_app", PROGRAM)
    put(tmp_path / "core.py", b"print()")
    put(tmp_path / "core")
    (tmp_path / "core.link").symlink_to(newest)
    (tmp_path / "core").unlink()
    assert advice(tmp_path) == (
        f"Set PYTHONFAULTHANDLER=1. A core dump was written while it ran, {newest} (4.0 KiB): "
        f"`gdb -batch -ex bt PROGRAM {newest}` shows where it crashed."
    )


def test_a_core_dump_from_after_the_end_is_of_another_run(tmp_path: Path) -> None:
    put(tmp_path / "core", at_s=STARTED_S + 60)
    assert advice(tmp_path, replace(CRASH, ended_s=STARTED_S + 59)) != FOUND.advice
    assert advice(tmp_path, replace(CRASH, ended_s=STARTED_S + 30)) == FOUND.advice


def test_the_folder_of_the_kernels_pattern_is_searched_too(tmp_path: Path) -> None:
    (tmp_path / "cores").mkdir()
    dump = put(tmp_path / "cores" / "core.train.77")
    assert str(dump) in advice(tmp_path, pattern=f"{tmp_path}/cores/core.%e.%p")
    piped = "|/usr/lib/systemd/systemd-coredump %P %u"
    assert advice(tmp_path, pattern=piped).endswith("Its core dump may be on n7: `coredumpctl list`.")


@pytest.mark.parametrize(
    "end",
    [
        replace(CRASH, exit_code=1),
        replace(CRASH, exit_code=None, signal=9),  # a killed program leaves none
        replace(CRASH, outcome=Outcome.SUCCESS),
    ],
)
def test_of_a_job_that_did_not_crash_none_is_named(tmp_path: Path, end: End) -> None:
    put(tmp_path / "core")
    assert advice(tmp_path, end) == FOUND.advice
    assert advice(tmp_path / "gone") == FOUND.advice


def test_what_the_kernel_writes_is_a_core_dump(tmp_path: Path) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text(encoding="ascii").strip()
    if pattern.startswith(("|", "/")) or resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip(f"this kernel writes core dumps elsewhere ({pattern}), or the limit forbids them")
    script = (
        "import os, resource, signal; hard = resource.getrlimit(resource.RLIMIT_CORE)[1]; "
        "resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)); os.kill(os.getpid(), signal.SIGSEGV)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False)
    assert done.returncode == -signal.SIGSEGV
    found = newest_core_dump((str(tmp_path),), OwnFiles(0.0))
    assert found is not None
    assert found.size_bytes > 4096
