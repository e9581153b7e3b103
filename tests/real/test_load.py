"""What many watched jobs ask of Slurm: `benchmarks/load.py` with small numbers, and only what it counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from private_slurm import Cluster

_BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "load.py"
_SMALL = ("--jobs=5", "--intervals=3", "--idle=2", "--tasks=10", "--adopted=6", "--rounds", "1", "2")
# read at import: the isolation of every test takes it out of the environment
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}

Figure = dict[str, float]

pytestmark = pytest.mark.xdist_group("load")  # one run serves all: users with one name disturb each other


@pytest.fixture(scope="module")
def figures(slurm: Cluster) -> dict[str, Figure]:
    """The figures of one run, by their names."""
    done = subprocess.run(
        [sys.executable, str(_BENCHMARK), *_SMALL, "--json"],
        env={**_ENVIRONMENT, **slurm.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("who", ["5 jobs, 5 monitors", "5 jobs, 1 monitor"])
class TestWhateverTheNumberOfMonitors:
    def test_slurmctld_is_asked_for_the_queue_once_an_interval_and_for_nothing_else(
        self, figures: dict[str, Figure], who: str
    ) -> None:
        # each squeue makes two requests, one of them for the partitions; only the sum is told by user, and
        # other users of this cluster, which are other tests, ask for queues and single jobs as they like
        assert figures[f"{who}: all requests in an interval"]["figure"] == 2

    def test_accounting_is_asked_once_for_all_jobs_that_end_at_once(
        self, figures: dict[str, Figure], who: str
    ) -> None:
        assert figures[f"{who}: runs of sacct when all end at once"]["figure"] == 1


def test_accounting_is_asked_once_for_all_tasks_of_an_array(figures: dict[str, Figure]) -> None:
    assert figures["array: tasks of 10 not seen to end well"]["figure"] == 0
    assert figures["array: runs of sacct when all tasks end at once"]["figure"] == 1


def test_one_monitor_adopts_all_orphans(figures: dict[str, Figure]) -> None:
    assert figures["monitors that adopt 6 jobs"]["figure"] == 1
