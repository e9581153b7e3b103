"""The client on recorded answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.log_paths import LogPaths, PathContext, expand
from jobmon_core.domain.slurm.rows import Disabled, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Scheduler
from jobmon_core.scheduler.slurm import commands
from jobmon_core.scheduler.slurm.client import TIMEOUT_S, SlurmScheduler
from jobmon_core.system.runner import Ran, TimedOut
from tests.recordings.record import PERCENT_FOLDER, WORK
from tests.support.fake_runner import Answer, FakeRunner, said
from tests.support.recordings import EACH_VERSION, NEW, OLD, SCENARIOS, Recordings, job_id, recorded

NOW_S = 1_000


def client(runner: FakeRunner, cluster: str = "") -> Scheduler:
    return SlurmScheduler(runner, cluster)


def answering(program: str, *answers: Ran | TimedOut) -> Scheduler:
    return client(FakeRunner().on(program, answers=answers))


def sacct_of(slurm: Recordings, *answers: Ran | TimedOut) -> FakeRunner:
    """A runner whose sacct has this version."""
    runner = FakeRunner().on("sacct", answers=answers)
    return runner.on("sacct", "--version", answers=[slurm.answer("accounting-version")])


def why(answer: object) -> str:
    assert isinstance(answer, Unreachable), answer
    return answer.why


class TestQueue:
    def test_an_answer_is_kept_as_it_came_with_the_time_of_the_question(self) -> None:
        slurm = answering("squeue", recorded("queue"))
        reply = slurm.ask_queue("me")
        assert reply == recorded("queue").stdout
        (row,) = slurm.read_queue(recorded("queue").stdout, [job_id("exit_137")])
        assert row.state is JobState.FAILED

    def test_no_jobs_is_an_answer(self) -> None:
        assert answering("squeue", said("")).ask_queue("me") == ""

    def test_without_its_configuration_slurm_is_not_asked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its commands would wait for a minute each."""
        conf = tmp_path / "slurm.conf"
        monkeypatch.setenv("SLURM_CONF", str(conf))
        slurm = answering("squeue", recorded("queue"))
        assert why(slurm.ask_queue("me")) == (
            f"squeue: {conf}, which $SLURM_CONF names, does not exist or cannot be read"
        )
        conf.touch()
        assert slurm.ask_queue("me") == recorded("queue").stdout
        slurm = answering("squeue", recorded("queue"))
        conf.unlink()  # a monitor does not look: the file system may hang
        assert slurm.ask_queue("me") == recorded("queue").stdout

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


def expanded(slurm: Recordings, name: str, template: str) -> str:
    return expand(template, PathContext(slurm.job_id(name)))


@pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
class TestLogTemplates:
    def templates(self, slurm: Recordings, name: str) -> LogPaths | None:
        answer = slurm.answer(f"templates-{name}")
        return answering("squeue", answer).ask_log_templates(slurm.job_id(name))

    def test_patterns_come_as_they_were_given(self, slurm: Recordings) -> None:
        given = f"{WORK}/o %x-%j %%"
        assert self.templates(slurm, "requeued") == LogPaths(given, given)

    def test_an_array_has_one_for_all_tasks(self, slurm: Recordings) -> None:
        assert self.templates(slurm, "array") == LogPaths(f"{WORK}/%A.%3a", f"{WORK}/%A.%3a")

    def test_the_default_of_an_array_is_right_even_where_squeue_prints_a_wrong_one(
        self, slurm: Recordings
    ) -> None:
        default = f"{WORK}/slurm-%A_%a.out"
        for name in ("array_default", "leftover"):
            assert self.templates(slurm, name) == LogPaths(default, default)

    def test_the_folder_of_a_default_log_is_not_expanded(self, slurm: Recordings) -> None:
        templates = self.templates(slurm, "percent_folder")
        assert templates
        log = f"{PERCENT_FOLDER}/slurm-{slurm.job_id('percent_folder')}.out"
        assert expanded(slurm, "percent_folder", templates.stdout) == log

    def test_the_log_of_a_het_job_is_that_of_its_first_component(self, slurm: Recordings) -> None:
        templates = self.templates(slurm, "het")
        assert templates
        assert expanded(slurm, "het", templates.stdout) == f"{WORK}/slurm-{slurm.job_id('het')}.out"
        assert templates.stderr == templates.stdout

    def test_a_forgotten_job_has_no_log_templates(self, slurm: Recordings) -> None:
        assert answering("squeue", slurm.answer("templates-unknown")).ask_log_templates(1) is None


class TestAccounting:
    @pytest.mark.parametrize("version", EACH_VERSION, ids=repr)
    def test_one_question_for_all_jobs_with_the_fields_of_the_version(self, version: Recordings) -> None:
        recording = version.answer("accounting")
        runner = sacct_of(version, recording)
        slurm = client(runner)
        for _ in range(2):
            assert slurm.ask_accounting([1, 2]) == recording.stdout
        version_query, *queries = runner.asked
        assert version_query == ("sacct", "--version")
        year, month = map(int, version.version.split("."))
        fields = commands.accounting_fields_of((year, month))
        assert [query[-3:] for query in queries] == [("1,2", "-o", ",".join(fields))] * 2
        assert {*recording.argv[-1].split(",")} <= {*fields}, "what was recorded is still asked"
        assert slurm.read_accounting(recording.stdout, version.job_id("killed"))[0].signal == 9

    def test_a_sacct_without_a_version_gets_the_oldest_fields(self) -> None:
        runner = FakeRunner().on("sacct", answers=[recorded("accounting")])
        runner.on("sacct", "--version", answers=[said("", "error", 1)])
        assert isinstance(client(runner).ask_accounting([1]), str)
        assert runner.asked[-1][-1].split(",") == [*commands.ACCOUNTING_FIELDS]

    def test_a_sacct_whose_version_came_too_late_is_asked_again(self) -> None:
        runner = FakeRunner().on("sacct", answers=[NEW.answer("accounting")])
        runner.on("sacct", "--version", answers=[TimedOut((), 10.0), NEW.answer("accounting-version")])
        slurm = client(runner)
        for _ in range(2):
            slurm.ask_accounting([1])
        fields = [{*argv[-1].split(",")} for argv in runner.asked if argv[-1] != "--version"]
        assert ["StdOut" in each for each in fields] == [False, True]

    @pytest.mark.parametrize("code", [3, 9, 129, 137, 255])
    def test_a_new_sacct_prints_true_exit_codes(self, code: int) -> None:
        text = SCENARIOS.answer(f"exit_{code}-accounting").stdout
        number = int(text.split("\n")[1].split(commands.SEP)[0])
        (row,) = client(sacct_of(NEW)).read_accounting(text, number)
        assert (row.exit_code, row.exit_code_exact) == (code, True)

    def test_the_exit_codes_of_an_old_sacct_are_in_doubt(self) -> None:
        (row,) = client(sacct_of(OLD)).read_accounting(recorded("accounting").stdout, job_id("exit_137"))
        assert (row.exit_code, row.exit_code_exact) == (9, False)

    def test_no_jobs_no_question(self) -> None:
        runner = FakeRunner()
        assert client(runner).ask_accounting([]) == ""
        assert runner.asked == []

    def test_nothing_known_is_an_answer(self) -> None:
        slurm = answering("sacct", recorded("accounting-unknown"))
        assert isinstance(slurm.ask_accounting([1]), str)

    def test_disabled_accounting_differs_from_unreachable_accounting(self) -> None:
        assert answering("sacct", recorded("accounting-disabled")).ask_accounting([1]) == Disabled()
        down = answering("sacct", recorded("accounting-no-slurmdbd")).ask_accounting([1])
        assert "Connection refused" in why(down)

    def test_empty_output_with_exit_code_0_is_unreachable(self) -> None:
        assert "unintelligible output" in why(answering("sacct", said("")).ask_accounting([1]))

    def test_a_field_that_this_sacct_lacks_is_left_out_from_then_on(self) -> None:
        # a wrapper around an old sacct that names a new version
        runner = sacct_of(NEW, recorded("accounting-invalid-field"), recorded("accounting"))
        runner.on("sacct", "--helpformat", answers=[recorded("accounting-fields")])
        slurm = client(runner)
        assert isinstance(slurm.ask_accounting([1]), str)
        assert isinstance(slurm.ask_accounting([1]), str)
        asked = [argv[-1].split(",") for argv in runner.asked]
        assert asked[0] == ["--version"]
        assert {*asked[1]} - {*commands.ACCOUNTING_FIELDS} == {"StdOut", "StdErr"}
        assert asked[2] == ["--helpformat"]
        assert asked[3] == asked[4] == [*commands.ACCOUNTING_FIELDS]


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
    assert runner.given_s[-1] == given_s
