"""The client on recorded answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import Disabled, NotListed, RawAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.policy import NO_HURRY_S
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.slurm import commands
from jobmon_core.scheduler.slurm.client import TIMEOUT_S, SlurmScheduler
from jobmon_core.system.runner import Ran, TimedOut
from tests.recordings.record import WORK
from tests.support.fake_runner import Answer, FakeRunner, said
from tests.support.recordings import job_id, recorded

NOW_S = 1_000


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
    def templates(self, name: str) -> LogPaths | None:
        return answering("squeue", recorded(f"templates-{name}")).ask_log_templates(job_id(name))

    def test_patterns_come_as_they_were_given(self) -> None:
        given = f"{WORK}/o %x-%j %%"
        assert self.templates("requeued") == LogPaths(given, given)

    def test_an_array_has_one_for_all_tasks(self) -> None:
        assert self.templates("array") == LogPaths(f"{WORK}/%A.%3a", f"{WORK}/%A.%3a")

    def test_the_wrong_default_of_an_array_is_mended(self) -> None:
        for name in ("array_default", "leftover"):
            assert self.templates(name) == LogPaths(f"{WORK}/slurm-%A_%a.out", f"{WORK}/slurm-%A_%a.out")

    def test_the_log_of_a_het_job_is_that_of_its_first_component(self) -> None:
        log = f"{WORK}/slurm-{job_id('het')}.out"
        assert self.templates("het") == LogPaths(log, log)

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


class Stopwatch(FakeRunner):
    """Notes how long each command may take, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.given_s: list[float] = []

    def capture(self, argv: Sequence[str], timeout_s: float) -> Answer:
        self.given_s.append(timeout_s)
        return super().capture(argv, timeout_s)


@pytest.mark.parametrize(("within_s", "given_s"), [(7.0, 7.0), (NO_HURRY_S, TIMEOUT_S), (900.0, TIMEOUT_S)])
def test_sacct_gets_the_callers_time_limit_up_to_that_of_any_command(within_s: float, given_s: float) -> None:
    runner = Stopwatch()
    runner.on("sacct", answers=[recorded("accounting")])
    SlurmScheduler(runner).ask_accounting([1], within_s)
    assert runner.given_s == [given_s]
