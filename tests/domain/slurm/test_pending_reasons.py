from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.pending_reasons import pending_hint


@pytest.mark.parametrize(
    ("reason", "problem", "advice"),
    [
        ("JobHeldUser", "is held by its user", "scontrol release JOBID"),
        ("JobHeldAdmin", "is held by an administrator", "Ask the administrators"),
        ("DependencyNeverSatisfied", "will never start", "scancel JOBID"),
        ("(DependencyNeverSatisfied)", "will never start", "scancel JOBID"),
        ("PartitionTimeLimit", "time limit is longer than its partition allows", "timelimit="),
        ("PartitionConfig", "cannot satisfy the request", "scancel JOBID"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-3]", "down, drained or reserved", "sinfo -R"),
        ("QOSMaxWallDurationPerJobLimit", "more than its QOS allows a job", "scancel JOBID"),
        ("AssocMaxGRESPerJob", "more than its account allows a job", "scancel JOBID"),
        ("QOSMaxJobsPerUserLimit", "your other jobs reached a limit of its QOS", "have ended"),
        ("AssocMaxJobsLimit", "your other jobs reached a limit of its account", "have ended"),
        ("QOSGrpGRES", "all jobs of its QOS together", "have ended"),
        ("AssocGrpCpuLimit", "all jobs of its account together", "have ended"),
    ],
)
def test_a_reason_that_needs_the_user_or_time_has_a_meaning_and_advice(
    reason: str, problem: str, advice: str
) -> None:
    hint = pending_hint(reason)
    assert hint is not None
    assert problem in hint.problem
    assert advice in hint.advice


@pytest.mark.parametrize(
    "reason",
    ["Priority", "Resources", "Dependency", "BeginTime", "None", "", "AssocGrpCPUMinutesLimit", "Odd{}"],
)
def test_ordinary_waiting_and_unknown_reasons_have_no_hint(reason: str) -> None:
    assert pending_hint(reason) is None
