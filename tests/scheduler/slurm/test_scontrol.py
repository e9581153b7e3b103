from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm.scontrol import defect_of, read_records
from tests.recordings.record import AWKWARD_LOG, AWKWARD_NAME, PERCENT_FOLDER, WORK
from tests.support.recordings import EACH_VERSION, NEW, SCENARIOS, VERSIONS, Recordings, recorded

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
    "options",
    "many_lines",
)


def records(slurm: Recordings, name: str) -> tuple[JobRow, ...]:
    return read_records(slurm.answer(f"record-{name}").stdout)


def only(slurm: Recordings, name: str) -> JobRow:
    (record,) = records(slurm, name)
    return record


@pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
class TestRecordedAnswers:
    def test_a_name_may_hold_anything_even_a_record(self, slurm: Recordings) -> None:
        record = only(slurm, "running")
        assert record.name == AWKWARD_NAME
        assert (record.ref, record.state, record.user, record.uid) == (
            JobRef(slurm.job_id("running")),
            JobState.RUNNING,
            "root",
            0,
        )

    def test_a_record_names_the_dependency_and_whether_there_is_a_script(self, slurm: Recordings) -> None:
        (record,) = records(slurm, "dependency_kill")
        assert record.dependency.endswith("(failed)")
        assert record.has_script
        assert only(slurm, "running").dependency == ""

    def test_a_comment_that_looks_like_fields_changes_no_field(self, slurm: Recordings) -> None:
        record = only(slurm, "steps")
        assert (record.name, record.user, record.state) == ("wrap", "root", JobState.COMPLETED)
        assert record.stdout == f"{WORK}/slurm-{slurm.job_id('steps')}.out"

    def test_a_script_whose_lines_look_like_a_record_changes_no_field(self, slurm: Recordings) -> None:
        record = only(slurm, "many_lines")
        assert (record.ref, record.name) == (JobRef(slurm.job_id("many_lines")), "wrap")
        assert (record.workdir, record.stdout) == (
            str(WORK),
            f"{WORK}/slurm-{slurm.job_id('many_lines')}.out",
        )

    def test_a_path_is_whole_whatever_it_contains_and_whatever_follows(self, slurm: Recordings) -> None:
        log = AWKWARD_LOG.replace("%%", "%") if only(slurm, "options").paths_expanded else AWKWARD_LOG
        assert only(slurm, "options").stdout == f"{WORK}/{log}"

    def test_the_folder_of_a_default_log_is_not_expanded(self, slurm: Recordings) -> None:
        log = f"{PERCENT_FOLDER}/slurm-{slurm.job_id('percent_folder')}.out"
        assert only(slurm, "percent_folder").stdout == log

    def test_the_exit_code_is_the_true_one(self, slurm: Recordings) -> None:
        assert (only(slurm, "exit_137").exit_code, only(slurm, "exit_137").signal) == (137, None)

    def test_a_signal_is_parsed(self, slurm: Recordings) -> None:
        assert (only(slurm, "killed").exit_code, only(slurm, "killed").signal) == (0, 9)

    def test_where_the_logs_and_the_work_folder_are(self, slurm: Recordings) -> None:
        record = only(slurm, "requeued")
        percent = "%" if record.paths_expanded else "%%"
        log = f"{WORK}/o wrap-{slurm.job_id('requeued')} {percent}"
        assert (record.workdir, record.stdout) == (str(WORK), log)
        assert record.stderr in ("", record.stdout)

    def test_a_requeue_is_counted(self, slurm: Recordings) -> None:
        assert (only(slurm, "requeued").restarts, only(slurm, "requeued").state) == (1, JobState.PENDING)
        assert only(slurm, "running").restarts == 0

    def test_a_forecast_is_neither_start_nor_end(self, slurm: Recordings) -> None:
        assert (only(slurm, "requeued").start_s, only(slurm, "requeued").end_s) == (None, None)
        assert only(slurm, "running").end_s is None

    def test_an_end_is_parsed(self, slurm: Recordings) -> None:
        record = only(slurm, "exit_137")
        assert None not in (record.submit_s, record.start_s, record.end_s)

    def test_memory_is_that_of_the_whole_job(self, slurm: Recordings) -> None:
        assert only(slurm, "running").requested_bytes == 64 << 20
        assert only(slurm, "held").requested_bytes == 2 << 30, "1 GiB on each of two nodes"

    def test_an_array_is_several_records(self, slurm: Recordings) -> None:
        found = {record.ref: record for record in records(slurm, "array")}
        array = slurm.job_id("array")
        assert found.keys() == {JobRef(array), JobRef(array, 1), JobRef(array, 2)}
        waiting = found[JobRef(array)].pending_indices
        assert waiting is not None
        assert [*waiting] == [3, 4, 5, 6]
        assert found[JobRef(array, 2)].raw_job_id not in (None, array)

    def test_a_het_job_is_one_record_for_each_component(self, slurm: Recordings) -> None:
        het = slurm.job_id("het")
        assert [(record.ref, record.raw_job_id, record.name) for record in records(slurm, "het")] == [
            (JobRef(het, component=0), het, "wrap"),
            (JobRef(het, component=1), het + 1, "wrap"),
        ]

    def test_null_is_an_empty_text(self, slurm: Recordings) -> None:
        held = only(slurm, "held")
        assert (held.nodes, held.batch_host, held.command) == ("", "", "")

    def test_a_time_limit_is_in_seconds(self, slurm: Recordings) -> None:
        assert (only(slurm, "held").limit_s, only(slurm, "running").limit_s) == (120, None)

    def test_only_a_whole_answer_has_no_defect(self, slurm: Recordings) -> None:
        for name in NAMES:
            text = slurm.answer(f"record-{name}").stdout
            assert defect_of(text, read_records(text)) == ""
            assert defect_of(text[:-1], read_records(text[:-1])) == "truncated output"


def test_only_a_new_scontrol_prints_the_true_paths() -> None:
    assert [only(slurm, "options").paths_expanded for slurm in VERSIONS] == [False, True]


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("option-gres-flags", "gres-flags.log"),
        ("option-kill-invalid-dep", "kill-invalid-dep.log"),
        ("option-cpu-freq", "cpu-freq.log"),
        ("option-spread-job", "spread-job.log"),
        ("option-oom-kill-step", "oom-kill-step.log"),
        ("option-segment", "segment.log"),
        ("option-consolidate", "consolidate.log"),
        ("option-bb", "bb.log"),
        ("option-comment", "comment.log"),
        ("space_path", "a b Switches=1@x.log"),
        ("wrap_with_keys", "keys-1312.log"),
        ("multiline_wrap", "slurm-1311.out"),
        ("newline_name", "slurm-1149.out"),
    ],
)
def test_no_option_of_a_new_slurm_changes_the_path_of_the_log(name: str, log: str) -> None:
    (record,) = read_records(SCENARIOS.answer(f"{name}-record").stdout)
    assert (record.workdir, record.stdout, record.stderr) == ("/home/anna/work", f"/home/anna/work/{log}", "")


@pytest.mark.parametrize("slurm", EACH_VERSION, ids=repr)
def test_a_comment_with_a_workdir_does_not_change_the_workdir(slurm: Recordings) -> None:
    text = slurm.answer("record-steps").stdout
    (imitated,) = read_records(text.replace("   Comment=a ", "   Comment=a SubmitLine=x WorkDir=/evil "))
    assert imitated.workdir == str(WORK)


def test_text_before_the_first_record_is_skipped() -> None:
    (record,) = read_records("Welcome to login1!\n" + NEW.answer("record-held").stdout)
    assert record.ref == JobRef(NEW.job_id("held"))


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
