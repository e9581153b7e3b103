"""A short run of `benchmarks/history_accounting.py`: the history has the runs and hours of accounting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from private_slurm import Cluster

_BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "history_accounting.py"
# read at import, because the isolation of the tests removes it from the environment
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}
_ARGUMENTS = ("--jobs=20", "--tasks=10", "--no-time-outs", "--no-totals", "--json")  # others use this cluster


@pytest.mark.xdist_group("n5")  # on which one of its jobs needs all CPUs
def test_runs_and_hours_are_those_of_sacct_and_of_a_backfill(slurm: Cluster) -> None:
    done = subprocess.run(
        [sys.executable, str(_BENCHMARK), *_ARGUMENTS],
        env={**_ENVIRONMENT, **slurm.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert json.loads(done.stdout)["runs in sacct"]["figure"] >= 40
