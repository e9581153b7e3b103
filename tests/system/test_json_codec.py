from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobmon_core.domain.job.tracking.model import EndInquiry, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.system.json_codec import DecodeError, from_json, to_json
from tests.support.records import anything

Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@dataclass(frozen=True)
class Sample:
    name: str
    count: int = 3
    share: float = 0.5
    outcome: Outcome | None = None
    parts: tuple[str, ...] = ()


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(anything(WatchedJob))
def test_a_written_record_is_read_back(job: WatchedJob) -> None:
    assert from_json(WatchedJob, json.loads(json.dumps(to_json(job)))) == job


def test_pending_indices_can_be_stored() -> None:
    row = JobRow(JobRef(12), JobState.CANCELLED, "CANCELLED", pending_indices=IndexSet.parse("1-9:2,12"))
    job = WatchedJob("a", 12, 0.0, tasks={"": Task("", inquiry=EndInquiry(0.0, 0.0, row=row))})
    assert from_json(WatchedJob, json.loads(json.dumps(to_json(job)))) == job


def test_default_values_are_not_written() -> None:
    assert to_json(Sample("x")) == {"name": "x"}


def test_a_renamed_field_keeps_its_key() -> None:
    found = Diagnosis("python_error", "Python exception", "", "", what_failed="KeyError: 'lr'")
    written = to_json(found)
    assert isinstance(written, dict)
    assert written["fact"] == "KeyError: 'lr'"
    assert from_json(Diagnosis, written) == found


def test_a_missing_key_takes_the_default_of_its_field() -> None:
    assert from_json(Sample, {"name": "x"}) == Sample("x")


def test_a_key_of_a_later_jobmon_is_ignored() -> None:
    assert from_json(Sample, {"name": "x", "invented_later": [1]}) == Sample("x")


def test_an_integer_is_accepted_as_a_float() -> None:
    assert from_json(Sample, {"name": "x", "share": 1}).share == 1.0


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], "$: expected dict, found list"),
        ({}, "$:.*'name'"),
        ({"name": 1}, "$.name: expected str, found int"),
        ({"name": "x", "count": True}, "$.count: expected int, found bool"),
        ({"name": "x", "count": 10**400}, "$.count: integer of 1329 bits is too large"),
        ({"name": "x", "count": 1.5}, "$.count: expected int, found float"),
        ({"name": "x", "share": "1"}, "$.share: expected float, found str"),
        ({"name": "x", "share": 10**400}, "$.share:.*too large"),
        ({"name": "x", "outcome": "splendid"}, "$.outcome:.*splendid"),
        ({"name": "x", "outcome": []}, "$.outcome:"),
        ({"name": "x", "parts": "abc"}, "$.parts: expected list, found str"),
        ({"name": "x", "parts": ["a", None]}, r"$.parts\[1\]: expected str, found NoneType"),
    ],
)
def test_a_mismatch_is_refused_with_its_place(data: object, place: str) -> None:
    with pytest.raises(DecodeError, match=place.replace("$", r"\$")):
        from_json(Sample, data)


@pytest.mark.parametrize("spans", [[[1, 2, 0]], [[1, 2, 3, 4]], [["1", 2, 3]], [3]])
def test_an_invalid_range_is_refused(spans: list[object]) -> None:
    with pytest.raises(DecodeError):
        from_json(IndexSet, {"spans": spans})


@given(Json)
def test_any_json_is_read_or_raises_decode_error(data: object) -> None:
    try:
        from_json(WatchedJob, data)
    except DecodeError as error:
        assert str(error).startswith("$")  # noqa: PT017 - both outcomes are allowed
