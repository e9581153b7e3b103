"""What differs between 22.05 and 25.11, on recordings of both.

States, failures and forms of output that no recording has are as Slurm's documentation gives them.
"""

from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.slurm import commands, values
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.commands import SEP
from jobmon_core.scheduler.slurm.sacct import read_accounting
from jobmon_core.scheduler.slurm.sbatch_output import announced_jobs, may_have_been_accepted
from jobmon_core.scheduler.slurm.scontrol import read_records
from jobmon_core.scheduler.slurm.squeue import read_queue
from jobmon_core.system.runner import Ran, TimedOut
from tests.support.fake_runner import FakeRunner, said
from tests.support.recordings import EACH_VERSION, NEW, SCENARIOS, VERSIONS, Recordings

HEADER = SEP.join(commands.ACCOUNTING_FIELDS)
SLURM_LOAD = "slurm_load_jobs error: "


def queue_row(listed: str, own: int, word: str, reason: str = "None") -> str:
    return f"{listed}|{own}|7|N/A|{word}|1700000001|N/A|1700000000|1:00:00|n1|{reason}\n"


def ledger_row(**columns: str) -> str:
    filled = {"Partition": "main", "Submit": "1700000000", **columns}
    return SEP.join(filled.get(name, "") for name in commands.ACCOUNTING_FIELDS) + "\n"


def queue_of(slurm: Recordings, name: str) -> JobRow:
    (row,) = read_queue(slurm.answer("queue").stdout, [slurm.job_id(name)])
    return row


def asking(program: str, *answers: Ran | TimedOut) -> SlurmScheduler:
    return SlurmScheduler(FakeRunner().on(program, answers=answers))


class TestStates:
    """Which words there are, and what each may mean."""

    @pytest.mark.parametrize(
        ("word", "phase"),
        [
            ("CONFIGURING", Phase.ACTIVE),
            ("SIGNALING", Phase.ACTIVE),
            ("POWER_UP_NODE", Phase.ACTIVE),
            ("EXPEDITING", Phase.ACTIVE),  # 25.11
            ("STAGE_OUT", Phase.FINISHING),
            ("UPDATE_DB", Phase.FINISHING),
            ("REQUEUE_FED", Phase.WAITING),
            ("RESV_DEL_HOLD", Phase.WAITING),
            ("LAUNCH_FAILED", Phase.ENDED),
            ("RECONFIG_FAIL", Phase.ENDED),
            ("BOOT_FAIL", Phase.ENDED),
            ("NODE_FAIL", Phase.ENDED_UNLESS_REQUEUED),
            ("PREEMPTED", Phase.ENDED_UNLESS_REQUEUED),
            ("REVOKED", Phase.ENDED_UNLESS_REQUEUED),
        ],
    )
    def test_each_version_has_its_own_texts(self, word: str, phase: Phase) -> None:
        (row,) = read_queue(queue_row("7", 7, word), [7])
        assert (row.raw_state, row.state.phase) == (word, phase)

    @pytest.mark.parametrize("word", ["HIBERNATING", "FAILED_OVER", "RUNNING*", "COMPLETED-ISH", "完了"])
    def test_a_state_of_a_future_version_is_unknown_everywhere_and_not_an_end(self, word: str) -> None:
        (row,) = read_queue(queue_row("7", 7, word), [7])
        (record,) = read_records(NEW.answer("record-held").stdout.replace("=PENDING ", f"={word} "))
        (run,) = read_accounting(f"{HEADER}\n{ledger_row(JobID='7', JobIDRaw='7', State=word)}", 7)
        for told in (row, record, run):
            assert (told.raw_state, told.state) == (word, JobState.UNKNOWN)
            assert told.state.is_alive

    def test_the_reason_of_a_death_differs_by_version_and_is_kept(self) -> None:
        reasons = [queue_of(slurm, "killed").reason for slurm in VERSIONS]
        assert reasons == ["JobLaunchFailure", "RaisedSignal:9(Killed)"]

    @pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
    def test_a_cancellation_names_its_user_if_known(self, slurm: Recordings) -> None:
        """Nobody cancelled a job whose dependency can never be satisfied."""
        text = slurm.answer("accounting").stdout
        cancelled, killed = (
            read_accounting(text, slurm.job_id(name))[-1] for name in ("cancelled_array", "dependency_kill")
        )
        assert (cancelled.raw_state, cancelled.cancelled_by) == ("CANCELLED by 0", 0)
        assert (killed.raw_state, killed.cancelled_by) == ("CANCELLED", None)
        assert queue_of(slurm, "dependency_kill").reason == "DependencyNeverSatisfied"

    def test_a_job_requeued_by_25_11_after_a_failure_is_held(self) -> None:
        text = SCENARIOS.answer("requeue_hold-queue").stdout
        (row,) = read_queue(text, [1302])
        assert (row.state, row.reason) == (JobState.REQUEUE_HOLD, "job requeued in held state")


class TestExitCodes:
    @pytest.mark.parametrize(
        ("name", "number", "state"), [("node_fail", 1259, "NODE_FAIL"), ("deadline", 1158, "DEADLINE")]
    )
    def test_25_11_prints_a_placeholder_where_slurm_itself_ended_the_job(
        self, name: str, number: int, state: str
    ) -> None:
        (row,) = read_accounting(SCENARIOS.answer(f"{name}-accounting").stdout, number)
        (record,) = read_records(SCENARIOS.answer(f"{name}-record").stdout)
        assert (row.raw_state, row.exit_code, row.signal) == (state, 1, None)
        assert (record.raw_state, record.exit_code, record.signal) == (state, 0, 1)

    @pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
    def test_the_exit_code_of_a_step_is_separate_from_that_of_the_job(self, slurm: Recordings) -> None:
        (row,) = read_accounting(slurm.answer("accounting").stdout, slurm.job_id("steps"))
        assert (row.exit_code, row.derived_exit_code) == (0, 5)


class TestRuns:
    """What ``sacct -D`` has of a job that ran more than once."""

    @pytest.mark.parametrize("first", ["REQUEUED", "PREEMPTED", "NODE_FAIL"])
    def test_the_run_before_a_requeue_comes_first_and_is_not_an_end(self, first: str) -> None:
        text = (
            f"{HEADER}\n"
            + ledger_row(JobID="7", JobIDRaw="7", State="PENDING", Submit="1700000121")
            + ledger_row(JobID="7", JobIDRaw="7", State=first, ExitCode="77:0")
        )
        old, new = read_accounting(text, 7)
        assert (old.raw_state, new.raw_state) == (first, "PENDING")
        assert old.state.is_alive or old.state.may_return


class TestArrays:
    @pytest.mark.parametrize("listed", ["7_[3-4%2]", "7_[3-4]", "7_[3,4%1]"])
    def test_tasks_that_wait_are_one_row_in_both_commands(self, listed: str) -> None:
        (row,) = read_queue(queue_row(listed, 7, "PENDING"), [7])
        (run,) = read_accounting(f"{HEADER}\n{ledger_row(JobID=listed, JobIDRaw='7', State='PENDING')}", 7)
        for told in (row, run):
            assert told.pending_indices is not None
            assert [*told.pending_indices] == [3, 4]

    def test_the_last_task_has_the_id_of_its_array_and_is_but_one_task(self) -> None:
        (row,) = read_accounting(f"{HEADER}\n{ledger_row(JobID='7_3', JobIDRaw='7', State='COMPLETED')}", 7)
        assert (row.ref, row.raw_job_id, row.pending_indices) == (JobRef(7, 3), 7, None)

    def test_an_array_expression_truncated_at_64_bytes_gives_no_wrong_rows(self) -> None:
        """jobmon asks for whole ones (SLURM_BITSTR_LEN=0); a site's wrapper may cut all the same."""
        for row in read_queue(queue_row("7_[1,3,5,...]", 7, "PENDING"), [7]):
            assert row.pending_indices is not None
            assert {*row.pending_indices} <= {1, 3, 5}

    def test_components_of_a_het_job_are_distinguished_by_both_commands(self) -> None:
        assert [
            row.ref
            for row in read_queue(queue_row("7+0", 7, "RUNNING") + queue_row("7+1", 8, "RUNNING"), [7])
        ] == [
            JobRef(7, component=0),
            JobRef(7, component=1),
        ]
        (run,) = read_accounting(f"{HEADER}\n{ledger_row(JobID='7+1', JobIDRaw='8', State='RUNNING')}", 7)
        assert (run.ref, run.raw_job_id) == (JobRef(7, component=1), 8)


class TestFields:
    """An unknown field makes the whole call of sacct fail."""

    @pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
    def test_only_fields_of_the_version_are_queried(self, slurm: Recordings) -> None:
        version = values.version(slurm.answer("accounting-version").stdout)
        assert version
        supported = slurm.answer("accounting-fields").stdout.split()
        assert {*commands.accounting_fields_of(version)} <= {*supported}
        assert ("StdOut" in commands.accounting_fields_of(version)) == ("StdOut" in supported)

    @pytest.mark.parametrize("missing", commands.ACCOUNTING_FIELDS[3:])
    def test_a_field_that_a_version_lacks_is_probed_for_and_costs_only_itself(self, missing: str) -> None:
        left = [name for name in commands.ACCOUNTING_FIELDS if name != missing]
        row = SEP.join({"JobID": "7", "JobIDRaw": "7", "State": "FAILED"}.get(name, "1") for name in left)
        runner = (
            FakeRunner()
            .on("sacct", answers=[said("", f'sacct: error: Invalid field requested: "{missing}"', 1)])
            .on("sacct", "--helpformat", answers=[said("  ".join(left))])
            .on(*commands.accounting([7], left, ""), answers=[said(f"{SEP.join(left)}\n{row}\n")])
        )
        slurm = SlurmScheduler(runner)
        reply = slurm.ask_accounting([7])
        assert isinstance(reply, str)
        assert [run.state for run in slurm.read_accounting(reply, 7)] == [JobState.FAILED]

    def test_a_free_text_with_the_separator_of_squeue_harms_no_column(self) -> None:
        told = ledger_row(JobID="7", JobIDRaw="7", State="TIMEOUT", JobName="a|b\n8|FAILED")
        (row,) = read_accounting(f"{HEADER}\n{told}", 7)
        assert (row.state, row.name) == (JobState.TIMEOUT, "a|b\n8|FAILED")


class TestFailures:
    """Of all failures only one text means that the job is gone."""

    @pytest.mark.parametrize(
        "words",
        [
            f"{SLURM_LOAD}Unable to contact slurm controller (connect failure)",
            f"{SLURM_LOAD}Socket timed out on send/recv operation",
            f"{SLURM_LOAD}Zero Bytes were transmitted or received",  # a client newer than slurmctld
            "slurm_load_jobs error: Unexpected message received",
            "scontrol: error: If munged is up, restart with --num-threads=10",
        ],
    )
    def test_with_a_missing_controller_both_commands_are_unreachable(self, words: str) -> None:
        failed = said("", words, 1)
        queue, record = asking("squeue", failed).ask_queue("me"), asking("scontrol", failed).ask_record(7)
        assert isinstance(queue, Unreachable)
        assert isinstance(record, Unreachable)
        assert words.removeprefix("scontrol: ") in record.why

    def test_only_one_text_means_gone(self) -> None:
        gone = said("", f"{SLURM_LOAD}Invalid job id specified", 1)
        assert asking("scontrol", gone).ask_record(7) == NotListed()
        assert isinstance(asking("squeue", gone).ask_queue("me"), Unreachable)

    def test_a_rate_limit_is_silence_until_the_time_is_over(self) -> None:
        """From 23.02 a client sleeps and retries without limit."""
        slow = TimedOut((), 120.0, stderr="RPC rate limited 1 time(s). Sleeping then trying again.")
        for answer in (
            asking("squeue", slow).ask_queue("me"),
            asking("scontrol", slow).ask_record(7),
            asking("sacct", slow).ask_accounting([7]),
        ):
            assert isinstance(answer, Unreachable)
            assert "no answer within 120 s" in answer.why

    @pytest.mark.parametrize(
        "words",
        [
            "sacct: error: Sending PersistInit msg: Connection refused",
            "sacct: error: Problem talking to the database: Connection refused",
        ],
    )
    def test_a_missing_database_is_unreachable(self, words: str) -> None:
        assert isinstance(asking("sacct", said("", words, 1)).ask_accounting([7]), Unreachable)

    def test_accounting_that_is_off_is_another_thing(self) -> None:
        off = said("", "Slurm accounting storage is disabled", 1)
        assert asking("sacct", off).ask_accounting([7]) == Disabled()

    def test_unknown_ids_are_an_answer_without_rows(self) -> None:
        assert asking("squeue", said("")).ask_queue("me") == ""
        assert asking("sacct", said(f"{HEADER}\n")).ask_accounting([7]) == f"{HEADER}\n"


class TestSubmitting:
    @pytest.mark.parametrize(
        ("line", "number", "cluster"),
        [
            ("Submitted batch job 2", 2, ""),
            ("3", 3, ""),
            ("Submitted batch job 13 on cluster dev", 13, "dev"),
            ("14;dev", 14, "dev"),
        ],
    )
    def test_each_form_of_the_answer_names_the_job(self, line: str, number: int, cluster: str) -> None:
        (job,) = announced_jobs([line])
        assert (job.ref, job.cluster) == (JobRef(number), cluster)

    def test_the_id_printed_by_test_only_is_not_a_job(self) -> None:
        line = "sbatch: Job 4 to start at 2282-01-01T00:00:00 using 1 processors on nodes vm"
        assert announced_jobs([line]) == ()

    @pytest.mark.parametrize(
        ("words", "doubt"),
        [
            ("Unable to contact slurm controller (connect failure)", False),
            ("Socket timed out on send/recv operation", True),
            ("Invalid partition name specified", False),
        ],
    )
    def test_only_a_lost_answer_leaves_in_doubt_whether_there_is_a_job(self, words: str, doubt: bool) -> None:  # noqa: FBT001
        assert may_have_been_accepted(1, f"sbatch: error: Batch job submission failed: {words}") is doubt
