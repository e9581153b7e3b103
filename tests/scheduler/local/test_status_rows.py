from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.status_rows import StatusRow, from_answer, to_answer

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
        line.as_queue_row().state == line.as_accounting_row("x").state == line.as_record().state == line.state
    )
