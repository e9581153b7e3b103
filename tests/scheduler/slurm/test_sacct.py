from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.model import StepUsage
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage, JobRow
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm.commands import ACCOUNTING_FIELDS, SEP, accounting_fields_of
from jobmon_core.scheduler.slurm.sacct import ask_step_usage, is_answer, read_accounting, read_step_usage
from jobmon_core.system.runner import TimedOut
from tests.recordings.record import AWKWARD_NAME, WORK
from tests.support.fake_runner import FakeRunner, said
from tests.support.recordings import EACH_VERSION, NEW, OLD, Recordings, job_id, recorded

LEDGER = recorded("accounting").stdout
HEADER = SEP.join(ACCOUNTING_FIELDS)


def rows(slurm: Recordings, name: str) -> tuple[JobRow, ...]:
    return read_accounting(slurm.answer("accounting").stdout, slurm.job_id(name))


def only(slurm: Recordings, name: str) -> JobRow:
    (row,) = rows(slurm, name)
    return row


def sacct_output(*lines: dict[str, str], fields: tuple[str, ...] = ACCOUNTING_FIELDS) -> str:
    """An answer of sacct's with these columns filled."""
    body = [SEP.join(line.get(name, "") for name in fields) for line in lines]
    return "\n".join([SEP.join(fields), *body]) + "\n"


@pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
class TestRecordedAnswers:
    def test_a_signal_is_parsed(self, slurm: Recordings) -> None:
        assert (only(slurm, "killed").exit_code, only(slurm, "killed").signal) == (0, 9)

    def test_a_name_with_newlines_is_put_together_again(self, slurm: Recordings) -> None:
        # slurmctld tells slurmdbd ` for "
        assert only(slurm, "running").name == AWKWARD_NAME.replace('"', "`")
        assert only(slurm, "running").workdir == str(WORK)

    def test_both_runs_of_a_requeued_job_are_listed_oldest_first(self, slurm: Recordings) -> None:
        first, second = rows(slurm, "requeued")
        assert (first.state, second.state) == (JobState.REQUEUED, JobState.PENDING)
        assert first.submit_s is not None
        assert second.submit_s is not None
        assert first.submit_s < second.submit_s

    def test_the_cancelling_user_is_parsed(self, slurm: Recordings) -> None:
        row = only(slurm, "cancelled_array")
        assert (row.state, row.raw_state, row.cancelled_by) == (JobState.CANCELLED, "CANCELLED by 0", 0)
        assert row.pending_indices is not None
        assert [*row.pending_indices] == [1, 2, 3, 4]

    def test_tasks_and_components_have_their_own_rows(self, slurm: Recordings) -> None:
        array, het = slurm.job_id("array"), slurm.job_id("het")
        assert {row.ref for row in rows(slurm, "array")} == {
            JobRef(array),
            JobRef(array, 1),
            JobRef(array, 2),
        }
        assert [row.ref for row in rows(slurm, "het")] == [JobRef(het, component=0), JobRef(het, component=1)]

    def test_steps_are_folded_into_their_job(self, slurm: Recordings) -> None:
        row = only(slurm, "steps")
        assert (row.exit_code, row.derived_exit_code) == (0, 5)
        assert row.usage.cpus == 2
        assert row.usage.requested_bytes == 2 << 30
        assert row.usage.max_rss_bytes is not None
        assert 0 < row.usage.max_rss_bytes < 1 << 30
        assert row.usage.cpu_s is not None

    def test_a_job_that_never_ran_has_no_usage(self, slurm: Recordings) -> None:
        row = only(slurm, "cancelled_array")
        assert (row.elapsed_s, row.usage.max_rss_bytes, row.nodes) == (0, None, "")

    def test_a_pending_job_has_no_start(self, slurm: Recordings) -> None:
        assert (only(slurm, "held").start_s, only(slurm, "held").end_s, only(slurm, "held").nodes) == (
            None,
            None,
            "",
        )

    def test_limits_are_in_seconds(self, slurm: Recordings) -> None:
        assert only(slurm, "held").limit_s == 120
        assert only(slurm, "running").limit_s is None


def test_an_old_sacct_prints_an_exit_code_from_128_on_less_128() -> None:
    old, new = only(OLD, "exit_137"), only(NEW, "exit_137")
    assert (old.state, old.exit_code, old.exit_code_exact, old.signal) == (JobState.FAILED, 9, False, None)
    assert (new.state, new.exit_code, new.exit_code_exact, new.signal) == (JobState.FAILED, 137, True, None)


def test_a_new_sacct_prints_the_templates_of_the_logs() -> None:
    default, old = only(NEW, "exit_137"), only(OLD, "exit_137")
    assert (default.stdout, default.stderr, old.stdout) == ("slurm-%j.out", "", "")
    assert rows(NEW, "array")[0].stdout == f"{WORK}/%A.%3a"


def test_the_stub_of_an_array_is_not_taken_for_its_end() -> None:
    text = recorded("accounting-stub").stdout  # no new sacct prints one
    stub, array = text.split("\n")[1], job_id("stub")
    assert stub.startswith(SEP.join([str(array), str(array), "FAILED", "3:0"])), "as if it were one job"
    assert read_accounting(text, array) == ()


MAIN = {
    "JobID": "7",
    "JobIDRaw": "7",
    "Partition": "main",
    "State": "COMPLETED",
    "Submit": "5",
    "TotalCPU": "00:10",
}
BATCH = {"JobID": "7.batch", "JobIDRaw": "7.batch", "TotalCPU": "00:04", "MaxRSS": "2M"}
STEP = {
    "JobID": "7.0",
    "JobIDRaw": "7.0",
    "TotalCPU": "00:00:00",
    "MaxRSS": "3M",
    "TRESUsageInTot": "cpu=00:00:23,mem=9M",
}


class TestUsage:
    def test_memory_is_the_most_that_one_step_held(self) -> None:
        (row,) = read_accounting(sacct_output(MAIN, BATCH, STEP), 7)
        assert row.usage.max_rss_bytes == 9 << 20

    def test_cpu_time_adds_up_over_steps_each_by_its_larger_figure(self) -> None:
        (row,) = read_accounting(sacct_output(MAIN, BATCH, STEP), 7)
        assert row.usage.cpu_s == 27

    def test_cpu_time_is_no_less_than_the_jobs_own(self) -> None:
        (row,) = read_accounting(sacct_output(MAIN, BATCH), 7)
        assert row.usage.cpu_s == 10

    def test_the_step_of_the_agents_does_not_count(self) -> None:
        agent = {**STEP, "JobID": "7.1", "JobIDRaw": "7.1", "JobName": "jobmon", "ExitCode": "1:0"}
        agent |= {"MaxRSS": "40M", "TotalCPU": "00:03", "TRESUsageInTot": "cpu=00:00:03,mem=50M"}
        main, step = ({**each, "ExitCode": "0:0", "DerivedExitCode": "1:0"} for each in (MAIN, STEP))
        with_agent, without = (
            read_accounting(sacct_output(main, BATCH, step, *more), 7)[0] for more in ((agent,), ())
        )
        assert with_agent.usage == without.usage
        assert (with_agent.derived_exit_code, without.derived_exit_code) == (0, 1)

    def test_the_job_s_own_cpu_time_is_without_the_agents(self) -> None:
        agent = {**STEP, "JobID": "7.0", "JobName": "jobmon", "TotalCPU": "00:02", "TRESUsageInTot": ""}
        (row,) = read_accounting(sacct_output(MAIN, BATCH, agent), 7)
        assert row.usage.cpu_s == 8

    def test_a_failed_step_of_the_job_counts_beside_the_agents(self) -> None:
        main = {**MAIN, "DerivedExitCode": "3:0"}
        agent = {**STEP, "JobName": "jobmon", "ExitCode": "0:0"}
        user = {**STEP, "JobID": "7.1", "JobIDRaw": "7.1", "JobName": "train", "ExitCode": "3:0"}
        (row,) = read_accounting(sacct_output(main, BATCH, agent, user), 7)
        assert row.derived_exit_code == 3

    def test_each_run_has_its_own_steps(self) -> None:
        again = {**MAIN, "Submit": "9"}
        first, second = read_accounting(sacct_output(MAIN, STEP, again, BATCH), 7)
        assert (first.usage.max_rss_bytes, second.usage.max_rss_bytes) == (9 << 20, 2 << 20)

    def test_the_row_of_tasks_that_never_started_is_not_about_one_with_a_row_of_its_own(self) -> None:
        # as an array of which one task ran, after the whole array was cancelled (22.05, on a busy machine)
        never = {**MAIN, "JobID": "7_[0-1]", "State": "CANCELLED by 0", "ElapsedRaw": "0"}
        ran = {**MAIN, "JobID": "7_0", "JobIDRaw": "8", "ElapsedRaw": "12"}
        for lines in ((never, ran), (ran, never)):
            found = {row.ref.task: row for row in read_accounting(sacct_output(*lines), 7)}
            assert found.keys() == {0, None}
            assert found[0].elapsed_s == 12
            assert str(found[None].pending_indices) == "1"
        (row,) = read_accounting(sacct_output(ran, {**never, "JobID": "7_[0]"}), 7)
        assert row.ref == JobRef(7, 0)
        reused = {**ran, "Submit": "9000000"}  # another array, much later
        assert str(read_accounting(sacct_output(never, reused), 7)[0].pending_indices) == "0-1"

    def test_a_step_without_its_job_is_skipped(self) -> None:
        assert read_accounting(sacct_output(STEP), 7) == ()


class TestWhatIsRead:
    def test_an_unknown_state_keeps_its_raw_text(self) -> None:
        (row,) = read_accounting(sacct_output({**MAIN, "State": "LEVITATED"}), 7)
        assert (row.state, row.raw_state) == (JobState.UNKNOWN, "LEVITATED")

    def test_columns_are_found_by_name(self) -> None:
        text = f"JobID{SEP}JobIDRaw{SEP}State\n7{SEP}7{SEP}TIMEOUT\n"
        (row,) = read_accounting(text, 7)
        assert (row.state, row.name) == (JobState.TIMEOUT, "")

    def test_a_job_is_not_taken_for_one_whose_id_begins_alike(self) -> None:
        assert read_accounting(LEDGER, job_id("running") // 10) == ()

    def test_a_short_row_costs_one_row(self) -> None:
        assert [row.ref for row in read_accounting(sacct_output(MAIN) + f"7{SEP}7\n", 7)] == [JobRef(7)]

    def test_an_output_without_rows_is_an_answer_and_an_empty_one_is_not(self) -> None:
        assert is_answer(recorded("accounting-unknown").stdout)
        assert read_accounting(recorded("accounting-unknown").stdout, 7) == ()
        assert is_answer(LEDGER)
        assert not is_answer("")
        assert not is_answer("<html>\n")
        assert not is_answer(LEDGER[:-1])


LINES = st.lists(st.sampled_from(LEDGER.split("\n")) | st.text(max_size=80))


@given(LINES.map("\n".join), st.sampled_from([7, job_id("array"), job_id("steps")]), st.booleans())
def test_no_text_makes_the_reader_raise(text: str, number: int, headed: bool) -> None:  # noqa: FBT001
    is_answer(text)
    for row in read_accounting(f"{HEADER}\n{text}" if headed else text, number):
        assert row.ref.job_id == number


@given(st.integers(min_value=0, max_value=len(LEDGER)))
def test_no_cut_makes_the_reader_raise(length: int) -> None:
    read_accounting(LEDGER[:length], job_id("steps"))


GPUS = {**MAIN, "AllocTRES": "billing=4,cpu=4,gres/gpu=2,gres/gpu:a100=2,mem=800M,node=1"}


class TestGpus:
    """Figures of Slurm 23.02 and later, and those of a site's jobstats."""

    def test_the_sum_over_the_tasks_is_shared_among_the_gpus(self) -> None:
        step = {**STEP, "TRESUsageInTot": "cpu=00:00:23,gres/gpumem=3000M,gres/gpuutil=150,mem=9M"}
        (row,) = read_accounting(sacct_output(GPUS, BATCH, step), 7)
        assert (row.usage.gpus, row.usage.nodes) == (2, 1)
        assert (row.usage.gpu_types, row.usage.billing) == ("a100", 4)
        assert row.usage.gpu == GpuUsage(GpuSource.ACCOUNTING, 75.0, memory_bytes=3000 << 20)

    def test_two_zeros_are_not_recorded(self) -> None:
        step = {**STEP, "TRESUsageInTot": "gres/gpumem=0,gres/gpuutil=0,mem=9M"}
        for steps in ((step,), (STEP,), ()):
            (row,) = read_accounting(sacct_output(GPUS, *steps), 7)
            assert row.usage.gpu is None

    def test_an_idle_gpu_that_holds_memory_is_at_zero(self) -> None:
        step = {**STEP, "TRESUsageInTot": "gres/gpumem=500M,gres/gpuutil=0,mem=9M"}
        (row,) = read_accounting(sacct_output(GPUS, step), 7)
        assert row.usage.gpu == GpuUsage(GpuSource.ACCOUNTING, 0.0, memory_bytes=500 << 20)

    def test_the_mean_of_jobstats_is_preferred_to_a_peak(self) -> None:
        summary = json.dumps({"nodes": {"n1": {"gpu_utilization": {"0": 40, "1": 60}}}}).encode()
        comment = f"JS1:{base64.b64encode(gzip.compress(summary)).decode()}"
        step = {**STEP, "TRESUsageInTot": "gres/gpuutil=150"}
        (row,) = read_accounting(sacct_output({**GPUS, "AdminComment": comment}, step), 7)
        assert row.usage.gpu == GpuUsage(GpuSource.JOBSTATS, 50.0, 0)

    @pytest.mark.parametrize("version", [(20, 11), (24, 5)])
    def test_a_comment_of_several_lines_harms_no_column(self, version: tuple[int, int]) -> None:
        main = {**GPUS, "AdminComment": "kept\n7 days", "JobName": "train"}
        (row,) = read_accounting(sacct_output(main, STEP, fields=accounting_fields_of(version)), 7)
        assert (row.name, row.usage.max_rss_bytes) == ("train", 9 << 20)


RESIZED = Path(__file__).parents[3] / "../shared/data/slurm26/resized-26.05"


@pytest.mark.parametrize(
    ("name", "job", "run_s", "nodes", "peak_kib"),
    [("memory_resized", 1063, 40, "n1", 320448), ("nodes_resized", 1065, 16, "n1", 5376)],
)
def test_the_rows_of_a_resized_job_are_one_run(
    name: str, job: int, run_s: int, nodes: str, peak_kib: int
) -> None:
    file = RESIZED / f"{name}-accounting.json"
    if not file.is_file():
        pytest.skip("the answers of newer versions of Slurm are not beside this checkout")
    (row,) = read_accounting(json.loads(file.read_text())["stdout"], job)
    assert (row.state, row.exit_code, row.elapsed_s, row.nodes) == (JobState.FAILED, 3, run_s, nodes)
    assert row.start_s is not None
    assert row.end_s is not None
    assert row.end_s - row.start_s == run_s
    assert row.submit_s is not None
    assert row.submit_s <= row.start_s
    assert row.usage.max_rss_bytes == peak_kib * 1024
    assert row.usage.run_s == run_s


def test_a_job_that_is_being_resized_runs() -> None:
    resizing = {**MAIN, "State": "RESIZING"}
    (row,) = read_accounting(sacct_output(resizing, STEP), 7)
    assert row.state.is_alive
    first, other = read_accounting(sacct_output(resizing, {**MAIN, "JobIDRaw": "8"}), 7)
    assert [first.state, other.state] == [JobState.RESIZING, JobState.from_slurm(MAIN["State"])]


ANSWER = """\
1001.batch|cpu=00:00:01,energy=0,fs/disk=1380449,mem=24340K,pages=0,vmem=236064K
1001.0|cpu=1-00:00:02,energy=0,fs/disk=6977,mem=1560K,pages=0,vmem=2920K
1001.extern|cpu=00:10:00,energy=0,mem=9999K
1002.batch|
 garbage
|||
"""


def test_the_steps_of_each_job_are_added_up() -> None:
    assert read_step_usage(ANSWER) == {
        1001: StepUsage((24340 + 1560) * 1024, 86_403.0),
        1002: StepUsage(),
    }


def test_one_query_asks_about_all_jobs_and_no_answer_is_no_figure() -> None:
    answer = said(ANSWER, "sstat: error: couldn't get steps for job 9\n")
    runner = FakeRunner().on("sstat", answers=[answer, TimedOut(("sstat",), 5.0)])
    assert set(ask_step_usage(runner, [1001, 1002, 9])) == {1001, 1002}
    assert runner.asked == [("sstat", "-a", "-n", "-P", "-j", "1001,1002,9", "-o", "JobID,TRESUsageInTot")]
    assert ask_step_usage(runner, [1001]) == {}
