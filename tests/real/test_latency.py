"""A short run of `benchmarks/latency.py`: from a job's real end to the accepted message."""

from __future__ import annotations

import os
from pathlib import Path

from private_slurm import Cluster

from benchmarks.latency import SETTINGS
from benchmarks.latency_parts.users import measure

JOBS = 4
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}


def test_each_job_is_reported_once_after_a_poll_that_followed_its_end(slurm: Cluster, tmp_path: Path) -> None:
    at_its_floor = SETTINGS[0]
    timelines = measure(at_its_floor, JOBS, tmp_path, {**_ENVIRONMENT, **slurm.env})
    assert len(timelines) == JOBS
    for timeline in timelines:
        assert int(timeline.ended_s) <= timeline.slurm_ended_s
        assert timeline.ended_s < timeline.noticed_s < timeline.concluded_s < timeline.accepted_s
