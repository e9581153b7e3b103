"""Whether a submission still runs, and whether it may have made a job."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from jobmon_core.app.submit_once import helper_runs, reply_to
from jobmon_core.domain.errors import Invalid, JobmonError, SchedulerMissing, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submission, Submitted
from tests.support.waiting import eventually


def test_an_sbatch_that_outlives_its_helper_still_submits() -> None:
    helper = subprocess.Popen(["/bin/sh", "-c", "sleep 300 & exit 0"], start_new_session=True)
    helper.wait()
    assert helper_runs(helper.pid, os.uname().nodename)
    os.killpg(helper.pid, signal.SIGKILL)
    eventually(lambda: not helper_runs(helper.pid, os.uname().nodename))


def test_nothing_is_known_of_other_hosts_and_of_no_session() -> None:
    assert not helper_runs(os.getsid(0), "elsewhere")
    assert not helper_runs(0, os.uname().nodename)


@pytest.mark.parametrize(
    ("result", "may_have_job"),
    [
        (Submission(0, Submitted(JobRef(7))), True),
        (Submission(1, None), False),
        (Submission(1, None, "Slurm may have accepted the job"), True),
        (Submission(-9, None), True),
        (Submission(137, None), True),  # of a wrapper whose sbatch was killed
    ],
)
def test_a_submission_that_was_killed_or_lost_its_reply_may_have_made_a_job(
    result: Submission, *, may_have_job: bool
) -> None:
    assert reply_to(lambda: result).may_have_job is may_have_job


@pytest.mark.parametrize(
    ("error", "may_have_job"),
    [(SchedulerMissing("x"), False), (Invalid("x", ["y"]), False), (StorageFailed("x"), True)],
)
def test_an_error_that_is_not_certainly_from_before_sbatch_leaves_it_open_whether_there_is_a_job(
    error: JobmonError, *, may_have_job: bool
) -> None:
    def fail() -> Submission:
        raise error

    reply = reply_to(fail)
    assert (reply.may_have_job, reply.error) == (may_have_job, str(error))
