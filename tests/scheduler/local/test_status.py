from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.client import job_status_rows
from jobmon_core.scheduler.records import StatusRow, from_answer, to_answer
from jobmon_core.system.process import ProcessId, ProcessStatus
from tests.scheduler.local.harness import LocalHarness
from tests.support.waiting import eventually

_STAYS = "echo up; while [ ! -e go ]; do sleep 0.05; done; exit 4"


def test_after_a_reboot_unfinished_tasks_are_node_fail(local: LocalHarness) -> None:
    done = local.start("--wrap", "exit 5")
    local.ends(done)
    job_id = local.start("-a", "1-3", "--wrap", _STAYS)
    eventually(lambda: local.says(f"slurm-{job_id}_1.out", "up"))
    eventually(lambda: len(local.queue(job_id)) == 2)

    later = replace(ProcessId.current(), boot_id="another")

    rows = job_status_rows(local.folder(job_id), later)
    assert [(row.state, row.reason) for row in rows] == [("NODE_FAIL", "the machine was restarted")] * 2
    assert [row.pending_indices for row in rows] == ["2-3", ""]
    assert job_status_rows(local.folder(done), later)[0].exit_code == 5


def test_on_another_machine_the_state_of_a_job_is_unknown(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)

    here = ProcessId.current()
    for observer in (
        replace(here, boot_id="another", host="far"),
        replace(here, pid_namespace="a container's"),
    ):
        (row,) = job_status_rows(local.folder(job_id), observer)
        assert row.job_state is JobState.UNKNOWN
        assert row.reason == f"only {os.uname().nodename}, where it was submitted, knows its status"


def test_a_reused_pid_is_not_the_supervisor(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)
    supervisor = local.folder(job_id).owner()
    assert supervisor is not None

    current = ProcessId.current()
    assert supervisor.status(current) is ProcessStatus.RUNNING
    reused = replace(supervisor, start_ticks=supervisor.start_ticks - 1)
    assert reused.status(current) is ProcessStatus.EXITED


@pytest.mark.parametrize("name", ["spec.json", "owner.json", "task.json"])
def test_a_damaged_record_is_unknown_and_affects_no_other_job(local: LocalHarness, name: str) -> None:
    good = local.start("--wrap", "true")
    local.ends(good)
    job_id = local.start("--wrap", "true")
    local.ends(job_id)
    record = local.folder(job_id).path / name
    whole = record.read_bytes()

    for damage in ("", "{", "[]", '{"name": 3}', '{"unheard-of": 1}', "\0\xff", "[" * 100_000):
        record.write_text(damage, encoding="utf-8")
        (row,) = local.queue(job_id)
        assert row.state is JobState.UNKNOWN, damage[:99]
        assert name in row.reason, damage[:99]
        assert local.queue(good)[0].state is JobState.COMPLETED, damage[:99]
        record.write_bytes(whole)
        assert local.queue(job_id)[0].state is JobState.COMPLETED


def test_an_interrupted_submission_is_not_a_job(local: LocalHarness) -> None:
    (local.root / "1").mkdir()
    done = local.start("--wrap", "true")
    local.ends(done)
    (local.folder(done).path / "owner.json").unlink()

    assert local.is_unknown(1)
    assert local.is_unknown(done)
    assert (local.queue(1), local.queue(done)) == ((), ())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.text())
def test_no_text_makes_a_parser_raise(text: str) -> None:
    assert list(from_answer(text, [1])) == []


@given(
    st.lists(_JSON, max_size=4),
    st.dictionaries(st.sampled_from(list(StatusRow.__slots__)), _JSON, max_size=6),
)
def test_a_damaged_line_is_skipped(noise: list[object], odd: dict[str, object]) -> None:
    good = StatusRow(job_id=7, state="RUNNING", raw_job_id=7)
    rows = [json.dumps(each) for each in (*noise, {"job_id": 7, **odd, "state": 3})]

    lines = list(from_answer("\n".join([*rows, to_answer([good]), *rows]), [7]))

    assert lines == [good]


@given(
    st.builds(
        StatusRow,
        job_id=st.just(1),
        state=st.sampled_from(list(JobState)).map(str),
        raw_job_id=st.integers(1, 9),
        task=st.none() | st.integers(0, 9),
        name=st.text(),
        reason=st.text(),
        stdout=st.text(),
        cpu_s=st.none() | st.floats(0, 1e6),
    )
)
def test_a_row_survives_writing_and_parsing(line: StatusRow) -> None:
    assert list(from_answer(to_answer([line, line]), [1])) == [line, line]
    assert (
        line.as_queue_row().state
        == line.as_accounting_row("local").state
        == line.as_record().state
        == line.state
    )
