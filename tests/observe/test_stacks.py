"""Stacks of real processes, by py-spy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.analysis.triage import read_stacks
from jobmon_core.domain.node.triage.stacks import command, compare
from jobmon_core.observe.stacks import take_stacks
from jobmon_core.system.runner import Runner

PROGRAM = """\
import os, signal
def all_reduce():
    print("waits", flush=True)
    signal.pause()
def load_next_batch():
    print("waits", flush=True)
    signal.pause()
all_reduce() if os.environ["RANK"] == "0" else load_next_batch()
"""

pytestmark = pytest.mark.skipif(
    not shutil.which("py-spy", path=str(Path(sys.executable).parent)), reason="py-spy is not installed"
)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[int]]:
    """Start two ranks, of which one waits for the other; return their PIDs."""
    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    ranks = [
        subprocess.Popen(
            [sys.executable, script], stdout=subprocess.PIPE, env={**os.environ, "RANK": str(rank)}
        )
        for rank in (0, 1)
    ]
    for rank in ranks:
        assert rank.stdout
        assert rank.stdout.readline() == b"waits\n"
    yield [rank.pid for rank in ranks]
    for rank in ranks:
        rank.kill()
        rank.communicate()


def test_the_rank_of_a_deadlocked_pair_that_did_not_arrive_is_named(tmp_path: Path, pair: list[int]) -> None:
    done = subprocess.run(
        [sys.executable, *command(pair, "", str(tmp_path))], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    report = read_stacks(tmp_path.glob("*.json"))
    if any("ermission" in problem for problem in report.problems):
        pytest.skip("this machine lets no process read another one")
    assert report.problems == ()
    assert [(stack.rank, stack.frames[0].split()[0]) for stack in report.stacks] == [
        (0, "all_reduce"),
        (1, "load_next_batch"),
    ]
    assert compare(report.stacks)[1] == ("rank 1",)


def test_a_job_without_python_processes_is_said_to_have_none(tmp_path: Path) -> None:
    taken = take_stacks(Runner(), "n1", "no-such-job", (), tmp_path)
    assert taken.problems == ("n1: no Python process of the job",)
