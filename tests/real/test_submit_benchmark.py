"""A short run of `benchmarks/submit.py`: the memory of an idle monitor, and the steps of a submission."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from private_slurm import Cluster

from benchmarks.submit import MAX_OWN_KB

_BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "submit.py"
# read at import, because the isolation of the tests removes it from the environment
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}


def test_an_idle_monitor_takes_little_memory_of_its_own(slurm: Cluster) -> None:
    done = subprocess.run(
        [sys.executable, str(_BENCHMARK), "--pairs=1", "--where", "--json"],
        env={**_ENVIRONMENT, **slurm.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    figures = json.loads(done.stdout)
    assert figures["own_kb"]["max"] < 1.5 * MAX_OWN_KB  # the benchmark itself has the bound
    steps = [figure["median"] for name, figure in figures.items() if name.startswith("where_until")]
    assert sum(steps) < figures["jobmon_submit_s"]["median"]
