from __future__ import annotations

from jobmon_core.domain.before.pending.model import Limit
from jobmon_core.domain.before.pending.own_request import limit_sentences


def test_limits_that_hold_no_job_back_are_left_out() -> None:
    limits = (Limit("QOS long", "GrpJobsAccrue", "", 5, 5), Limit("QOS long", "GrpJobs", "", 5, 5))
    assert list(limit_sentences("AReasonThatNamesNoLimit", limits)) == [
        "QOS long allows at most 5 running jobs in all (GrpJobs); counted now: 5 running jobs."
    ]
