from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, compact, each_task, parse_listed, ref_of

numbers = st.integers(0, 2**32 - 1)
refs = (
    st.builds(JobRef, numbers)
    | st.builds(JobRef, numbers, numbers)
    | st.builds(JobRef, numbers, st.none(), numbers)
)
indices = st.integers(0, 4_000_000)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("12", JobRef(12)),
        (" 12\n", JobRef(12)),
        ("12_0", JobRef(12, task=0)),
        ("12+1", JobRef(12, component=1)),
        ("12.batch", JobRef(12)),
        ("12_3.0", JobRef(12, task=3)),
        ("12.head.cluster-1", JobRef(12)),
        ("12[3].pbs1", JobRef(12, task=3)),
        ("12[].pbs1", JobRef(12)),
    ],
)
def test_a_job_id_is_read_as_people_slurm_and_pbs_write_it(text: str, ref: JobRef) -> None:
    assert JobRef.parse(text) == ref


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "12_", "12_x", "12+", "12 13", "12_[1-3]", "1.2.3", "٣", "9" * 11, "9" * 5000, "12_3+1"],
)
def test_what_names_no_single_job_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the id of one job"):
        JobRef.parse(text)


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("12_[1-3]", ["12_1", "12_2", "12_3"]),
        ("12_[1,5-9:2%4]", ["12_1", "12_5", "12_7", "12_9"]),
        ("12_3", ["12_3"]),
        ("12_[]", ["12_[]"]),
        ("12_[0-99999]", ["12_[0-99999]"]),
        ("--name=a_[1]", ["--name=a_[1]"]),
    ],
)
def test_pending_tasks_as_squeue_lists_them_are_named_one_by_one(word: str, words: list[str]) -> None:
    assert each_task(word) == words


@given(refs)
def test_a_job_id_written_is_the_job_id_read(ref: JobRef) -> None:
    assert JobRef.parse(str(ref)) == ref
    assert ref_of(ref.job_id, ref.key) == ref


@pytest.mark.parametrize("key", ["word", "1x", "²", "+", "++1", "-1", "1\n", "9" * 5000])
def test_a_part_that_can_be_none_stands_for_the_whole_job(key: str) -> None:
    assert ref_of(12, key) == JobRef(12)


@given(st.text())
def test_no_text_makes_the_parsers_raise_anything_but_a_clear_value_error(text: str) -> None:
    for parse in (JobRef.parse, parse_listed):
        try:
            parse(text)
        except ValueError as error:
            assert re.search("is not (the id of one job|a Slurm job id)", str(error))  # noqa: PT017 - both ends are fine


@pytest.mark.parametrize(
    ("text", "ref", "waiting"),
    [
        ("12", JobRef(12), None),
        ("12_3", JobRef(12, task=3), None),
        ("12_[1-9:2,12%4]", JobRef(12), [1, 3, 5, 7, 9, 12]),
        ("12_[0]", JobRef(12), [0]),
        ("12_[1-3,5...", JobRef(12), [1, 2, 3]),  # cut by squeue
        ("12_[]", JobRef(12), []),
    ],
)
def test_one_entry_of_a_listing_may_stand_for_many_tasks(
    text: str, ref: JobRef, waiting: list[int] | None
) -> None:
    found, listed = parse_listed(text)
    assert found == ref
    assert (None if listed is None else list(listed)) == waiting


@pytest.mark.parametrize("expression", ["9-1", "1-5:0", "", ",", "a-b", "1--2", "1-2-3", "9" * 5000])
def test_an_odd_expression_still_has_a_written_form(expression: str) -> None:
    read = IndexSet.parse(expression)
    assert IndexSet.parse(str(read)) == read


def test_what_is_no_span_costs_only_itself() -> None:
    assert list(IndexSet.parse("1,x,9-1,3-4")) == [1, 3, 4]


def test_a_hundred_thousand_tasks_take_no_more_room_than_one() -> None:
    tasks = IndexSet.parse("0-99999%50")
    assert len(tasks) == 100_000
    assert 99_999 in tasks
    assert 100_000 not in tasks
    assert len(tasks.spans) == 1


@given(st.text(alphabet="0123456789-:,%[] x"))
def test_every_index_set_survives_being_written_and_read(expression: str) -> None:
    read = IndexSet.parse(expression)
    assert IndexSet.parse(str(read)) == read


@given(st.lists(indices, max_size=30))
def test_indices_written_short_are_the_same_indices(some: list[int]) -> None:
    short = IndexSet.parse(compact(some))
    assert list(short) == sorted(set(some))
    assert len(short) == len(set(some))
    assert all(index in short for index in some)


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(1, 3))
def test_indices_without_some_are_the_others(some: set[int], gone: set[int], step: int) -> None:
    for known in (IndexSet.parse(compact([*some])), IndexSet((range(5, 50, step),))):
        assert {*known.without(gone)} == {*known} - gone


def test_neighbours_are_written_as_a_span() -> None:
    assert compact([7, 2, 1, 3, 3]) == "1-3,7"
    assert compact([]) == ""
