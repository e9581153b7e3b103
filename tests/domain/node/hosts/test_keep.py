"""When the folder of a command may be removed from its host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.node.hosts.judge import KEEP_DAYS, may_be_removed
from jobmon_core.domain.node.hosts.model import HostJob, JobEnd

NOW_S = 2_000_000_000.0
LONG_AGO_S = int(NOW_S - (KEEP_DAYS + 1) * 86_400)
OLD = HostJob(
    host="box",
    run_id="6566c1d3a1b2c3",
    registered_s=LONG_AGO_S - 60,
    is_dropped=True,
    end=JobEnd("COMPLETED", 0, end_s=LONG_AGO_S),
)


def test_the_folder_of_a_command_that_ended_and_was_reported_long_ago_may_be_removed() -> None:
    assert may_be_removed(OLD, NOW_S)
    assert may_be_removed(replace(OLD, end=JobEnd("NODE_FAIL")), NOW_S)  # without a time of its own


@pytest.mark.parametrize(
    "job",
    [
        replace(OLD, end=JobEnd("COMPLETED", 0, end_s=int(NOW_S) - 86_400)),
        replace(OLD, end=JobEnd("NODE_FAIL"), registered_s=NOW_S - 86_400),
        replace(OLD, end=None),  # it may still run: only its watching ended
        replace(OLD, is_dropped=False),  # its message may not be delivered yet
        replace(OLD, is_removed=True),
        replace(OLD, run_id=""),  # a job that jobmon did not start
        replace(OLD, run_id="../../../data"),  # not a name that jobmon gives
        replace(OLD, run_id="6566c1d3a1b2c3\n"),
    ],
)
def test_no_other_folder_may_be_removed(job: HostJob) -> None:
    assert not may_be_removed(job, NOW_S)
