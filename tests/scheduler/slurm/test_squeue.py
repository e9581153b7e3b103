from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm.squeue import defect_of, read_queue
from tests.support.recordings import EACH_VERSION, OLD, Recordings, job_id, recorded

QUEUE = recorded("queue").stdout


def rows(slurm: Recordings, name: str) -> tuple[JobRow, ...]:
    return read_queue(slurm.answer("queue").stdout, [slurm.job_id(name)])


def only(slurm: Recordings, name: str) -> JobRow:
    (row,) = rows(slurm, name)
    return row


@pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
class TestRecordedRows:
    def test_a_running_job_has_a_start_and_no_end(self, slurm: Recordings) -> None:
        row = only(slurm, "running")
        assert row.ref == JobRef(slurm.job_id("running"))
        assert (row.state, row.raw_state, row.nodes, row.end_s) == (JobState.RUNNING, "RUNNING", "n1", None)
        assert row.submit_s is not None
        assert row.start_s is not None
        assert row.submit_s <= row.start_s

    def test_365_days_are_no_limit(self, slurm: Recordings) -> None:
        assert only(slurm, "running").limit_s is None

    def test_a_held_job_has_its_reason_and_its_limit(self, slurm: Recordings) -> None:
        row = only(slurm, "held")
        assert (row.state, row.reason, row.limit_s) == (JobState.PENDING, "JobHeldUser", 120)

    def test_an_estimated_start_is_dropped(self, slurm: Recordings) -> None:
        assert only(slurm, "waiting_array").start_s is None

    def test_an_array_shows_its_running_tasks_and_in_one_row_all_that_wait(self, slurm: Recordings) -> None:
        one, two, waiting = rows(slurm, "array")
        array = slurm.job_id("array")
        assert (one.ref, two.ref, waiting.ref) == (JobRef(array, 1), JobRef(array, 2), JobRef(array))
        assert waiting.pending_indices is not None
        assert [*waiting.pending_indices] == [3, 4, 5, 6]
        assert None not in (one.raw_job_id, two.raw_job_id)
        assert len({one.raw_job_id, two.raw_job_id, array}) == 3, "each task has an id of its own"

    def test_a_long_expression_of_indices_is_not_cut(self, slurm: Recordings) -> None:
        waiting = only(slurm, "waiting_array").pending_indices
        assert waiting is not None
        assert [*waiting] == [*range(1, 300, 3), 500]

    def test_the_pending_tasks_of_a_cancelled_array_are_one_row(self, slurm: Recordings) -> None:
        rest, task = sorted(rows(slurm, "leftover"), key=lambda row: row.ref.task or 0)
        assert (rest.state, task.state) == (JobState.CANCELLED, JobState.CANCELLED)
        assert rest.pending_indices is not None
        assert [*rest.pending_indices] == [2, 3]
        assert task.ref.task == 1

    def test_components_of_a_het_job_have_their_own_ids(self, slurm: Recordings) -> None:
        first, second = rows(slurm, "het")
        het = slurm.job_id("het")
        assert (first.ref, first.raw_job_id) == (JobRef(het, component=0), het)
        assert (second.ref, second.raw_job_id) == (JobRef(het, component=1), het + 1)

    def test_an_ended_job_is_shown_with_its_end(self, slurm: Recordings) -> None:
        row = only(slurm, "exit_137")
        assert (row.state, row.reason) == (JobState.FAILED, "NonZeroExitCode")
        assert row.end_s is not None

    def test_a_requeued_job_waits_again(self, slurm: Recordings) -> None:
        assert (only(slurm, "requeued").state, only(slurm, "requeued").reason) == (
            JobState.PENDING,
            "BeginTime",
        )

    def test_every_recorded_row_can_be_read(self, slurm: Recordings) -> None:
        text = slurm.answer("queue").stdout
        ids = {int("".join(c for c in line.split("|")[2] if c.isdigit())) for line in text.splitlines()}
        assert len(read_queue(text, ids | {slurm.job_id("het")})) == len(text.splitlines())


class TestOneBadLine:
    def test_costs_one_line(self) -> None:
        garbled = QUEUE.replace("|RUNNING|", "|", 1)
        assert read_queue(garbled, [job_id("running")]) == ()
        assert read_queue(garbled, [job_id("held")]) == rows(OLD, "held")

    def test_a_job_is_not_taken_for_one_whose_id_begins_alike(self) -> None:
        assert read_queue(QUEUE, [job_id("running") // 10]) == ()

    def test_a_reason_may_hold_anything(self) -> None:
        line = "7|7|7|N/A|PENDING|N/A|N/A|5|UNLIMITED||held by admin | see ticket|7\n"
        assert read_queue(line, [7])[0].reason == "held by admin | see ticket|7"

    def test_an_unknown_state_keeps_its_raw_text(self) -> None:
        row = read_queue(QUEUE.replace("|RUNNING|", "|LEVITATING|"), [job_id("running")])[0]
        assert (row.state, row.raw_state) == (JobState.UNKNOWN, "LEVITATING")

    def test_a_plain_row_may_be_what_is_left_of_an_array(self) -> None:
        row = read_queue("34|34|34|N/A|CANCELLED|5|5|5|UNLIMITED||None\n", [34])[0]
        assert (row.ref, row.pending_indices, row.state) == (JobRef(34), None, JobState.CANCELLED)

    @pytest.mark.parametrize(
        "listed",
        [
            "7_[0-99999999999999]",
            "7_[0-9999999999]",
            "7_[9000000]",
            "7_[" + "0-4000000," * 9 + "1]",
            "7777777777777777",
            "7_[9" + "9" * 5000 + "]",
        ],
    )
    def test_absurd_numbers_are_no_job(self, listed: str) -> None:
        line = f"{listed}|7|7|N/A|PENDING|N/A|N/A|5|UNLIMITED||None\n"
        assert read_queue(line, [7]) == ()


class TestFaults:
    def test_complete_output_has_no_defect(self) -> None:
        assert defect_of(QUEUE) == ""

    def test_no_jobs_at_all_is_an_answer(self) -> None:
        assert defect_of("") == ""

    @given(st.integers(min_value=1, max_value=len(QUEUE) - 1))
    def test_an_answer_cut_anywhere_but_between_rows_has_one(self, length: int) -> None:
        cut = QUEUE[:length]
        assert bool(defect_of(cut)) == (not cut.endswith("\n"))

    @pytest.mark.parametrize("text", ["<html>proxy error</html>\n", "slurm is down today\n", " \n\0\n"])
    def test_garbage_has_one(self, text: str) -> None:
        assert defect_of(text)

    def test_some_rows_among_garbage_are_an_answer(self) -> None:
        assert defect_of("Welcome to the cluster!\n" + QUEUE) == ""


LINES = st.lists(st.sampled_from([*QUEUE.splitlines(), "7|", "|||", "7_[|7"]) | st.text(max_size=60))


@given(LINES.map("\n".join), st.integers(min_value=0))
def test_no_text_makes_the_reader_raise(text: str, number: int) -> None:
    defect_of(text)
    for row in read_queue(text, [number]):
        assert row.ref.job_id == number


@given(st.text(alphabet="0123456789_[]-:,%+|.\n", max_size=80))
def test_no_id_makes_the_reader_raise(listed: str) -> None:
    for row in read_queue(f"{listed}|7|7|N/A|PENDING|N/A|N/A|5|1:00||None\n", [7]):
        assert row.pending_indices is None or len(row.pending_indices) >= 0
