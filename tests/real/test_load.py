"""A short run of `benchmarks/load.py`: the number of requests to Slurm."""

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
# read at import, because the isolation of the tests removes it from the environment
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}

Figure = dict[str, float]

pytestmark = pytest.mark.xdist_group("load")  # all tests use one run


@pytest.fixture(scope="module")
def figures(slurm: Cluster) -> dict[str, Figure]:
    """The results of one run by name."""
    done = subprocess.run(
        [sys.executable, str(_BENCHMARK), *_SMALL, "--json"],
        env={**_ENVIRONMENT, **slurm.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("who", ["5 jobs, 5 monitors", "5 jobs, 1 monitor", "a group of 5, 1 monitor"])
class TestAnyNumberOfMonitors:
    def test_slurmctld_gets_one_queue_query_per_interval_and_nothing_else(
        self, figures: dict[str, Figure], who: str
    ) -> None:
        # Each squeue makes two requests, one of them for the partitions. Per user, Slurm counts only the
        # total; counts by type would include the requests of other tests.
        assert figures[f"{who}: all requests in an interval"]["figure"] == 2

    def test_one_sacct_serves_all_jobs_that_end_together(self, figures: dict[str, Figure], who: str) -> None:
        assert figures[f"{who}: runs of sacct when all end at once"]["figure"] == 1


def test_a_group_has_one_digest(figures: dict[str, Figure]) -> None:
    assert figures["digests about a group of 5"]["figure"] == 1


def test_one_sacct_serves_all_tasks_of_an_array(figures: dict[str, Figure]) -> None:
    assert figures["array: tasks of 10 not seen to end well"]["figure"] == 0
    assert figures["array: runs of sacct when all tasks end at once"]["figure"] == 1


def test_one_monitor_adopts_all_orphans(figures: dict[str, Figure]) -> None:
    assert figures["monitors that adopt 6 jobs"]["figure"] == 1
