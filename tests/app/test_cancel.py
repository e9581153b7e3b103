"""The command that ends a job that is no longer watched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.app.cancel import command_to_end
from jobmon_core.domain.tracking.model import WatchedJob
from tests.support.job_records import RUNNING, job_of

JOB = job_of(RUNNING)


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (JOB, "scancel 12"),
        (replace(JOB, cluster="here"), "scancel 12"),
        (replace(JOB, cluster="other", remote=True), "scancel -M other 12"),  # job 12 here is another one
        (replace(JOB, backend="local"), ""),
    ],
)
def test_the_command_ends_the_job_on_its_own_cluster(job: WatchedJob, command: str) -> None:
    assert command_to_end(job) == command
