"""Whether a job is over, by its record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.app.wait import Result, judge, overall
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.job_records import NOW_S, OOM, PENDING, RUNNING, ended, failed, job_of, succeeded

DOUBTFUL = ended(JobState.COMPLETED, Outcome.SUCCESS, diagnosis=OOM)
CANCELLED = ended(JobState.CANCELLED, Outcome.CANCELLED)
NO_PROOF = ended(JobState.UNKNOWN, Outcome.UNKNOWN)
ARRAY = replace(job_of(succeeded("1"), replace(RUNNING, key="2")), array_indices="1-3", pending_indices="3")


@pytest.mark.parametrize(
    ("job", "result"),
    [
        (job_of(PENDING), Result.RUNNING),
        (job_of(RUNNING), Result.RUNNING),
        (job_of(), Result.RUNNING),
        (job_of(succeeded()), Result.RUNNING),  # its logs are not analysed yet
        (job_of(succeeded(), concluded_s=NOW_S), Result.SUCCESS),
        (job_of(failed(), concluded_s=NOW_S), Result.FAILURE),
        (job_of(CANCELLED, concluded_s=NOW_S), Result.FAILURE),
        (job_of(NO_PROOF, concluded_s=NOW_S), Result.UNKNOWN),
        (job_of(DOUBTFUL, concluded_s=NOW_S), Result.SUCCESS),
        (job_of(succeeded("1"), failed("2"), concluded_s=NOW_S), Result.FAILURE),
        (replace(job_of(RUNNING), unwatched_s=NOW_S), Result.UNKNOWN),
        (replace(job_of(failed()), unwatched_s=NOW_S), Result.FAILURE),
        (ARRAY, Result.RUNNING),
    ],
)
def test_a_job_is_over_when_its_outcome_is_known_and_its_logs_are_analysed(
    job: WatchedJob, result: Result
) -> None:
    answer = judge(job, job.ref, doubtful_fails=False)
    assert answer.result is result
    assert bool(answer.why) is (result is Result.UNKNOWN)


def test_a_doubtful_success_is_a_failure_where_the_configuration_calls_it_an_error() -> None:
    job = job_of(DOUBTFUL, concluded_s=NOW_S)
    assert judge(job, job.ref, doubtful_fails=True).result is Result.FAILURE


@pytest.mark.parametrize(
    ("part", "is_closed", "result"),
    [
        ("12_1", False, Result.RUNNING),
        ("12_4", False, Result.SUCCESS),
        ("12_2", False, Result.RUNNING),
        ("12_3", False, Result.RUNNING),
        ("12_1", True, Result.SUCCESS),
        ("12_3", True, Result.UNKNOWN),
    ],
)
def test_a_task_is_over_before_its_array(*, part: str, is_closed: bool, result: Result) -> None:
    diagnosed = replace(succeeded("4"), diagnosis=replace(OOM, cause=None))
    job = replace(ARRAY, tasks={**ARRAY.tasks, "4": diagnosed})
    if is_closed:
        job = replace(job, tasks={"1": succeeded("1")}, pending_indices="", concluded_s=NOW_S)
    assert judge(job, JobRef.parse(part), doubtful_fails=False).result is result


def test_jobs_run_until_all_are_over_then_the_worst_one_counts() -> None:
    assert overall([Result.SUCCESS, Result.FAILURE, Result.RUNNING]) is Result.RUNNING
    assert overall([Result.SUCCESS, Result.UNKNOWN, Result.FAILURE]) is Result.FAILURE
    assert overall([Result.SUCCESS, Result.UNKNOWN]) is Result.UNKNOWN
    assert overall([Result.SUCCESS] * 2) is Result.SUCCESS


@pytest.mark.parametrize(("remote", "command"), [(False, "scancel 12"), (True, "scancel -M other 12")])
def test_a_job_that_never_starts_has_failed_and_its_cluster_is_named(remote: bool, command: str) -> None:  # noqa: FBT001 - a case
    never = job_of(replace(PENDING, reason="DependencyNeverSatisfied"))
    answer = judge(replace(never, cluster="other", remote=remote), never.ref, doubtful_fails=False)
    assert answer.result is Result.FAILURE
    assert f"`{command}` removes it" in answer.why
    local = judge(replace(never, backend="local"), never.ref, doubtful_fails=False)
    assert local.why == "it will never start (DependencyNeverSatisfied)"
