from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Record
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm.scontrol import read_records
from tests.recordings.record import AWKWARD_NAME, WORK
from tests.support.recordings import job_id, recorded

NAMES = (
    "running",
    "held",
    "array",
    "waiting_array",
    "requeued",
    "het",
    "steps",
    "leftover",
    "killed",
    "exit_137",
)


def records(name: str) -> tuple[Record, ...]:
    return read_records(recorded(f"record-{name}").stdout)


def only(name: str) -> Record:
    (record,) = records(name)
    return record


class TestRecordedAnswers:
    def test_a_name_may_hold_anything_even_a_record(self) -> None:
        record = only("running")
        assert record.name == AWKWARD_NAME
        assert (record.ref, record.state, record.user, record.uid) == (
            JobRef(job_id("running")),
            JobState.RUNNING,
            "root",
            0,
        )

    def test_a_comment_that_looks_like_fields_changes_no_field(self) -> None:
        record = only("steps")
        assert (record.name, record.user, record.state) == ("wrap", "root", JobState.COMPLETED)
        assert record.stdout == f"{WORK}/slurm-{job_id('steps')}.out"

    def test_the_exit_code_is_the_true_one(self) -> None:
        assert (only("exit_137").exit_code, only("exit_137").signal) == (137, None)

    def test_a_signal_is_parsed(self) -> None:
        assert (only("killed").exit_code, only("killed").signal) == (0, 9)

    def test_where_the_logs_and_the_work_folder_are(self) -> None:
        record = only("requeued")
        assert (record.workdir, record.stdout) == (str(WORK), f"{WORK}/o wrap-{job_id('requeued')} %%")
        assert record.stderr == record.stdout

    def test_a_requeue_is_counted(self) -> None:
        assert (only("requeued").restarts, only("requeued").state) == (1, JobState.PENDING)
        assert only("running").restarts == 0

    def test_a_forecast_is_neither_start_nor_end(self) -> None:
        assert (only("requeued").start_s, only("requeued").end_s) == (None, None)
        assert only("running").end_s is None

    def test_an_end_is_parsed(self) -> None:
        record = only("exit_137")
        assert None not in (record.submit_s, record.start_s, record.end_s)

    def test_memory_is_that_of_the_whole_job(self) -> None:
        assert only("running").requested_bytes == 64 << 20
        assert only("held").requested_bytes == 2 << 30, "1 GiB on each of two nodes"

    def test_an_array_is_several_records(self) -> None:
        found = {record.ref: record for record in records("array")}
        array = job_id("array")
        assert found.keys() == {JobRef(array), JobRef(array, 1), JobRef(array, 2)}
        waiting = found[JobRef(array)].pending_indices
        assert waiting is not None
        assert [*waiting] == [3, 4, 5, 6]
        assert found[JobRef(array, 2)].raw_job_id not in (None, array)

    def test_a_het_job_is_one_record_for_each_component(self) -> None:
        het = job_id("het")
        assert [(record.ref, record.raw_job_id, record.name) for record in records("het")] == [
            (JobRef(het, component=0), het, "wrap"),
            (JobRef(het, component=1), het + 1, "wrap"),
        ]

    def test_null_is_an_empty_text(self) -> None:
        assert (only("held").nodes, only("held").batch_host, only("held").command) == ("", "", "")

    def test_a_time_limit_is_in_seconds(self) -> None:
        assert (only("held").limit_s, only("running").limit_s) == (120, None)


def test_a_comment_with_a_workdir_does_not_change_the_workdir() -> None:
    text = recorded("record-steps").stdout
    (imitated,) = read_records(text.replace(" Comment=a ", " Comment=a SubmitLine=x WorkDir=/evil "))
    assert imitated.workdir == str(WORK)


# what later versions print differently, laid over a true record
class TestLaterVersions:
    def test_memory_is_parsed_if_requested_and_allocated_tres_are_two_fields(self) -> None:
        text = recorded("record-running").stdout
        later = re.sub(" TRES=[^ ]*", " ReqTRES=cpu=1,mem=1M AllocTRES=(null)", text)
        assert read_records(later)[0].requested_bytes == 1 << 20

    def test_a_submit_line_that_looks_like_fields_changes_no_field(self) -> None:
        text = recorded("record-held").stdout
        later = text.replace(" WorkDir=", " SubmitLine=sbatch --comment 'WorkDir=/x StdOut=/y' run WorkDir=")
        assert read_records(later) == records("held")


@pytest.mark.parametrize("name", NAMES)
def test_a_record_without_its_state_is_left_out(name: str) -> None:
    text = recorded(f"record-{name}").stdout
    assert read_records(text.replace(" JobState=", " Jobstate=")) == ()


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_no_cut_makes_the_reader_raise_or_change_an_exit_code(name: str, data: st.DataObject) -> None:
    text = recorded(f"record-{name}").stdout
    at = data.draw(st.integers(min_value=0, max_value=len(text)))
    read_records(text[at:])
    whole = {record.ref: record for record in read_records(text)}
    for record in read_records(text[:at]):
        assert record.exit_code in (None, whole[record.ref].exit_code)


@given(st.text())
def test_no_text_makes_the_reader_raise(text: str) -> None:
    read_records(text)
    read_records(recorded("record-array").stdout.replace("JobName=wrap", f"JobName={text}"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_name_survives(name: str) -> None:
    text = recorded("record-held").stdout
    assert read_records(text.replace("JobName=wrap", f"JobName={name}"))[0].name == name
