"""The short job that looks at a node: what sbatch's answers mean, and that no such job is left behind."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm.short_job import submit_short_job
from jobmon_core.system.runner import Result, TimedOut
from tests.support.fake_runner import FakeRunner, said

NAME = "jobmon-check-17-4"
JOB = Submitted(JobRef(12), "far")
BY_NAME = ("scancel", "--clusters=far", f"--name={NAME}")
NO_ANSWER = TimedOut((), 30.0)
LOST_ANSWER = said(
    stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", exit_code=1
)


def _submit(runner: FakeRunner) -> Submitted:
    return submit_short_job(runner, NAME, ["--clusters=far", "--time=5"], "/h/a.sh", "/h/a%.out")


def test_the_job_has_a_name_of_its_own() -> None:
    runner = FakeRunner().on("sbatch", answers=[said("a site's banner\n12;far\n")])
    assert _submit(runner) == JOB
    assert f"--job-name={NAME}" in runner.asked[0]


def test_a_refusal_is_in_the_words_of_sbatch() -> None:
    refusal = said(stderr="sbatch: error: invalid partition specified: nope", exit_code=1)
    runner = FakeRunner().on("sbatch", answers=[refusal])
    with pytest.raises(SchedulerRejected, match="nope"):
        _submit(runner)
    assert len(runner.asked) == 1
    with pytest.raises(SchedulerMissing, match="sbatch: not found on PATH"):
        _submit(FakeRunner())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (NO_ANSWER, "sbatch: no answer within 30 s"),
        (LOST_ANSWER, "Socket timed out"),
        (said("submitted\n"), "sbatch: printed no job id"),
        (said(exit_code=-9), "sbatch: killed by signal 9"),
    ],
)
def test_a_job_that_may_exist_although_there_was_no_answer_is_cancelled_by_its_name(
    answer: Result, why: str
) -> None:
    runner = FakeRunner().on("sbatch", answers=[answer]).on("scancel", answers=[said()])
    with pytest.raises(SchedulerUnavailable, match=f"{why}.*; the job {NAME} was cancelled, if it exists"):
        _submit(runner)
    assert runner.asked[1] == BY_NAME
    runner.on("scancel", answers=[NO_ANSWER])
    with pytest.raises(SchedulerUnavailable, match=f"; if the job exists, `{' '.join(BY_NAME)}` cancels it"):
        _submit(runner)


def test_a_job_is_cancelled_by_its_name_if_sbatch_is_interrupted() -> None:
    class Interrupted(FakeRunner):
        def capture(self, argv: Sequence[str], timeout_s: float) -> Result:
            answer = super().capture(argv, timeout_s)
            if argv[0] == "sbatch":
                raise KeyboardInterrupt
            return answer

    runner = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        _submit(runner)
    assert runner.asked[1:] == [BY_NAME]
