"""The client on recorded answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import Templates
from jobmon_core.domain.slurm.rows import Disabled, NotListed, RawAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Scheduler, Submission, Submitted
from jobmon_core.scheduler.slurm import commands
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.session_search import SearchDeps
from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
from jobmon_core.system.runner import Ran, TimedOut
from tests.recordings.record import WORK
from tests.support.fake_runner import FakeRunner, said
from tests.support.recordings import job_id, recorded

NOW_S = 1_000
HUNG = said(
    stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", exit_code=1
)


def client(runner: FakeRunner, cluster: str = "") -> Scheduler:
    return SlurmScheduler(runner, cluster, clock=lambda: NOW_S)


def answering(program: str, *answers: Ran | TimedOut) -> Scheduler:
    return client(FakeRunner().on(program, answers=answers))


def why(answer: object) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.why


class TestQueue:
    def test_an_answer_is_kept_as_it_came_with_the_time_of_the_question(self) -> None:
        slurm = answering("squeue", recorded("queue"))
        reply = slurm.ask_queue("me")
        assert reply == RawAnswer(recorded("queue").stdout, NOW_S)
        (row,) = slurm.read_queue(recorded("queue").stdout, [job_id("exit_137")])
        assert row.state is JobState.FAILED

    def test_no_jobs_is_an_answer(self) -> None:
        assert answering("squeue", said("")).ask_queue("me") == RawAnswer("", NOW_S)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("queue-no-slurmctld", "Unable to contact slurm controller (connect failure)"),
            ("queue-invalid-user", "squeue: error: Invalid user: no-such-user"),
            ("queue-invalid-cluster", "No cluster 'nowhere' known by database"),
        ],
    )
    def test_a_failure_is_unreachable_with_slurms_error(self, name: str, words: str) -> None:
        assert words.removeprefix("squeue: ") in why(answering("squeue", recorded(name)).ask_queue("me"))

    def test_an_unknown_user_is_unreachable_although_the_exit_code_is_0(self) -> None:
        assert recorded("queue-invalid-user").exit_code == 0

    def test_a_timeout_is_unreachable(self) -> None:
        slow = answering("squeue", TimedOut(("squeue",), 120, stderr="RPC rate limited"))
        assert why(slow.ask_queue("me")) == "squeue: no answer within 120 s; RPC rate limited"

    def test_a_missing_program_is_unreachable(self) -> None:
        assert why(client(FakeRunner()).ask_queue("me")) == "squeue: not found on PATH"

    @pytest.mark.parametrize("text", ["<html>error</html>\n", recorded("queue").stdout[:-1], "1000|RUN"])
    def test_garbage_and_truncated_output_are_unreachable(self, text: str) -> None:
        error = why(answering("squeue", said(text)).ask_queue("me")).removeprefix("squeue: ")
        assert error.startswith(("truncated output", "unintelligible output"))


class TestRecord:
    def test_a_known_job_has_a_record(self) -> None:
        answer = answering("scontrol", recorded("record-exit_137")).ask_record(job_id("exit_137"))
        assert isinstance(answer, tuple)
        assert answer[0].exit_code == 137

    def test_only_the_exact_error_means_that_the_job_is_unknown(self) -> None:
        assert answering("scontrol", recorded("record-unknown")).ask_record(1) == NotListed()

    def test_all_other_failures_are_unreachable(self) -> None:
        answer = answering("scontrol", recorded("record-no-slurmctld")).ask_record(1)
        assert "Unable to contact slurm controller" in why(answer)

    def test_garbage_is_unreachable(self) -> None:
        assert "unintelligible output" in why(answering("scontrol", said("JobId=what\n")).ask_record(1))
        assert "unintelligible output" in why(answering("scontrol", said("")).ask_record(1))

    def test_a_truncated_record_is_unreachable(self) -> None:
        whole = recorded("record-exit_137").stdout
        for end in range(whole.index("JobState=FAILED") + 20, len(whole) - 1, 40):
            assert why(answering("scontrol", said(whole[:end])).ask_record(1)) == "scontrol: truncated output"


class TestLogTemplates:
    def templates(self, name: str) -> Templates | None:
        return answering("squeue", recorded(f"templates-{name}")).ask_log_templates(job_id(name))

    def test_patterns_come_as_they_were_given(self) -> None:
        given = f"{WORK}/o %x-%j %%"
        assert self.templates("requeued") == Templates(given, given)

    def test_an_array_has_one_for_all_tasks(self) -> None:
        assert self.templates("array") == Templates(f"{WORK}/%A.%3a", f"{WORK}/%A.%3a")

    def test_the_wrong_default_of_an_array_is_mended(self) -> None:
        for name in ("array_default", "leftover"):
            assert self.templates(name) == Templates(f"{WORK}/slurm-%A_%a.out", f"{WORK}/slurm-%A_%a.out")

    def test_the_log_of_a_het_job_is_that_of_its_first_component(self) -> None:
        log = f"{WORK}/slurm-{job_id('het')}.out"
        assert self.templates("het") == Templates(log, log)

    def test_a_forgotten_job_has_no_log_templates(self) -> None:
        assert answering("squeue", recorded("templates-unknown")).ask_log_templates(1) is None


class TestAccounting:
    def test_one_question_for_all_jobs(self) -> None:
        runner = FakeRunner().on("sacct", answers=[recorded("accounting")])
        slurm = client(runner)
        reply = slurm.ask_accounting([1, 2])
        assert reply == RawAnswer(recorded("accounting").stdout, NOW_S)
        assert len(runner.asked) == 1
        assert slurm.read_accounting(recorded("accounting").stdout, job_id("killed"))[0].signal == 9

    def test_no_jobs_no_question(self) -> None:
        runner = FakeRunner()
        assert client(runner).ask_accounting([]) == RawAnswer("", NOW_S)
        assert runner.asked == []

    def test_nothing_known_is_an_answer(self) -> None:
        slurm = answering("sacct", recorded("accounting-unknown"))
        assert isinstance(slurm.ask_accounting([1]), RawAnswer)

    def test_disabled_accounting_differs_from_unreachable_accounting(self) -> None:
        assert answering("sacct", recorded("accounting-disabled")).ask_accounting([1]) == Disabled()
        down = answering("sacct", recorded("accounting-no-slurmdbd")).ask_accounting([1])
        assert "Connection refused" in why(down)

    def test_empty_output_with_exit_code_0_is_unreachable(self) -> None:
        assert "unintelligible output" in why(answering("sacct", said("")).ask_accounting([1]))

    def test_a_field_that_this_sacct_lacks_is_left_out_from_then_on(self) -> None:
        runner = FakeRunner().on(
            "sacct", answers=[recorded("accounting-invalid-field"), recorded("accounting")]
        )
        fields = recorded("accounting-fields").stdout.replace("WorkDir", "")
        runner.on("sacct", "--helpformat", answers=[said(fields)])
        slurm = client(runner)
        assert isinstance(slurm.ask_accounting([1]), RawAnswer)
        assert isinstance(slurm.ask_accounting([1]), RawAnswer)
        asked = [argv[-1].split(",") for argv in runner.asked]
        assert asked[0] == [*commands.ACCOUNTING_FIELDS]
        assert asked[1] == ["--helpformat"]
        assert asked[2] == asked[3] == [name for name in commands.ACCOUNTING_FIELDS if name != "WorkDir"]


class TestScriptAndCluster:
    def test_the_script_is_returned(self) -> None:
        assert "sleep 600" in answering("scontrol", recorded("script")).script_of(1)

    def test_an_unknown_script_is_empty(self) -> None:
        assert answering("scontrol", recorded("script-unknown")).script_of(1) == ""

    def test_the_cluster_name_comes_from_slurmctld(self) -> None:
        name = answering("scontrol", recorded("configuration")).cluster_name()
        assert name == recorded("sbatch-cluster").argv[2]

    def test_another_cluster_is_the_one_that_was_named(self) -> None:
        runner = FakeRunner()
        assert client(runner, "far").cluster_name() == "far"
        assert runner.asked == []

    def test_an_unreachable_cluster_has_no_name_now(self) -> None:
        assert client(FakeRunner()).cluster_name() == ""


def listing(*jobs: tuple[int, int]) -> Ran:
    """A queue with these jobs and the sessions they were submitted from."""
    sep = commands.SEP
    lines = (f"{job}{sep}N/A{sep}{session}{sep}{NOW_S}{sep}here\n" for job, session in jobs)
    return said("".join(lines))


@dataclass
class User:
    """A user who submits a job, and the messages that jobmon prints."""

    runner: FakeRunner = field(default_factory=FakeRunner)
    watched: set[int] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    jobs: list[Submitted] = field(default_factory=list)
    now_s: float = NOW_S

    def sleep(self, length_s: float) -> None:
        self.now_s += length_s

    def submit(self, on_job: Callable[[Submitted], None] | None = None) -> Submission:
        search = SearchDeps(
            lambda ref: ref.job_id in self.watched, self.told.append, self.sleep, lambda: self.now_s
        )
        slurm = SlurmScheduler(self.runner, clock=lambda: self.now_s)
        submitter = SlurmSubmitter(self.runner, lambda _cluster: slurm.sessions(), search)
        return submitter.submit(["run.sh"], on_job or self.jobs.append)


MINE = os.getsid(0)


class TestSubmitting:
    @pytest.mark.parametrize(
        "name", ["sbatch", "sbatch-parsable", "sbatch-cluster", "sbatch-cluster-parsable"]
    )
    def test_the_job_is_reported_once_and_returned(self, name: str) -> None:
        user = User(FakeRunner().on("sbatch", answers=[recorded(name)]))
        submission = user.submit()
        assert [submission.job] == user.jobs
        assert (submission.exit_code, submission.note, user.told) == (0, "", [])
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
        user = User(FakeRunner().on("sbatch", answers=[recorded(name)]))
        assert user.submit() == Submission(recorded(name).exit_code, None)
        assert (len(user.runner.asked), user.jobs, user.told) == (1, [], [])

    def test_without_sbatch_the_error_suggests_the_local_backend(self) -> None:
        with pytest.raises(SchedulerMissing, match=r"sbatch: not found on PATH.*--backend local"):
            User().submit()


class TestSearchingForTheJob:
    def test_a_quiet_submission_is_found_by_its_session(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        user = User(runner.on("squeue", answers=[listing((5, MINE), (6, MINE + 1))]))
        submission = user.submit()
        assert submission.job == Submitted(JobRef(5))
        assert user.jobs == [submission.job]
        assert "the job is 5" in submission.note
        assert "searching for the job" in user.told[0]

    def test_a_job_that_is_watched_already_is_another(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        user = User(runner.on("squeue", answers=[listing((5, MINE), (6, MINE))]), watched={6})
        assert user.submit().job == Submitted(JobRef(5))

    def test_a_quiet_submission_that_is_not_found_is_reported(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[recorded("sbatch-quiet")])
        submission = User(runner.on("squeue", answers=[listing()])).submit()
        assert (submission.exit_code, submission.job) == (0, None)
        assert "it is not watched" in submission.note

    def test_a_job_that_slurm_accepted_although_sbatch_failed_is_found(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        user = User(runner.on("squeue", answers=[recorded("queue-no-slurmctld"), listing((5, MINE))]))
        submission = user.submit()
        assert (submission.exit_code, submission.job) == (1, Submitted(JobRef(5)))
        assert "do not submit it again" in submission.note
        assert user.jobs == [submission.job]

    def test_a_job_that_slurm_did_not_accept_is_reported_as_not_submitted(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        submission = User(runner.on("squeue", answers=[listing()])).submit()
        assert (submission.exit_code, submission.job) == (1, None)
        assert "was not submitted" in submission.note

    def test_if_slurm_stays_unreachable_the_user_is_advised_to_check(self) -> None:
        runner = FakeRunner().on("sbatch", answers=[HUNG])
        user = User(runner.on("squeue", answers=[recorded("queue-no-slurmctld")]))
        submission = user.submit()
        assert submission.job is None
        assert "check with squeue before you submit it again" in submission.note
        assert user.now_s - NOW_S <= 60
