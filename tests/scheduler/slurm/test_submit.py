from __future__ import annotations

import pytest

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler.base import Submission, Submitted
from tests.scheduler.slurm.submitting import User
from tests.support.fake_runner import FakeRunner, said
from tests.support.recordings import recorded


class TestSubmitting:
    @pytest.mark.parametrize(
        "name", ["sbatch", "sbatch-parsable", "sbatch-cluster", "sbatch-cluster-parsable"]
    )
    def test_the_job_is_reported_once_and_returned(self, name: str) -> None:
        user = User(FakeRunner().on("sbatch", answers=[recorded(name)]))
        submission = user.submit()
        assert [submission.job] == user.jobs
        assert (submission.exit_code, submission.note, user.messages) == (0, "", [])
        assert user.runner.asked == [("sbatch", "run.sh")], "the user's own words, and no question after"

    def test_banners_around_it_are_no_matter(self) -> None:
        text = "Welcome!\n1 job(s) checked\n\nSubmitted batch job 5\nGood luck\n"
        user = User(FakeRunner().on("sbatch", answers=[said(text)]))
        assert user.submit().job == Submitted(JobRef(5))

    def test_the_exit_code_of_a_waiting_sbatch_is_the_jobs(self) -> None:
        user = User(FakeRunner().on("sbatch", answers=[said("5\n", exit_code=3)]))
        assert user.submit() == Submission(3, Submitted(JobRef(5)))

    @pytest.mark.parametrize(
        "name",
        [
            "sbatch-test-only",
            "sbatch-version",
            "sbatch-bad-option",
            "sbatch-bad-partition",
            "sbatch-no-slurmctld",
        ],
    )
    def test_if_sbatch_certainly_submitted_nothing_there_is_no_search(self, name: str) -> None:
        arguments = ("--version",) if name == "sbatch-version" else ("run.sh",)
        user = User(FakeRunner().on("sbatch", answers=[recorded(name)]), arguments=arguments)
        assert user.submit() == Submission(recorded(name).exit_code, None)
        assert (len(user.runner.asked), user.jobs, user.messages) == (1, [], [])

    def test_without_sbatch_the_error_suggests_the_local_backend(self) -> None:
        with pytest.raises(SchedulerMissing, match=r"sbatch: not found on PATH.*--backend local"):
            User().submit()
