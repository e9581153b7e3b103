from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer

kinds = st.lists(st.text(max_size=8), min_size=4, max_size=4).map(tuple)


@pytest.fixture
def file(tmp_path: Path) -> SharedAnswer:
    return SharedAnswer.named(tmp_path, "queue", "slurm", "", "me")


def test_a_written_answer_is_read_back(file: SharedAnswer) -> None:
    answer = StoredAnswer(5.0, "12|R\n\udcff", "", about=(1, 2), wanted={"3": 4.5})
    file.write(answer)
    assert file.read() == answer


def test_a_damaged_answer_reads_as_an_empty_one(file: SharedAnswer) -> None:
    file.path.write_text('{"asked_s": "x"}', encoding="ascii")
    assert file.read() == StoredAnswer()


@given(kinds, kinds)
def test_each_kind_of_answer_has_a_file_of_its_own(
    names_1: tuple[str, ...], names_2: tuple[str, ...]
) -> None:
    first, second = (SharedAnswer.named(Path("/r"), *kind) for kind in (names_1, names_2))
    assert (first.path == second.path) == (names_1 == names_2)
    assert (first.lock_path == second.lock_path) == (names_1 == names_2)
    assert first.path.parent == Path("/r")


def test_a_hyphen_in_a_name_does_not_lead_to_the_file_of_another_cluster() -> None:
    file = SharedAnswer.named(Path("/r"), "queue", "slurm", "gpu", "big-me")
    assert file != SharedAnswer.named(Path("/r"), "queue", "slurm", "gpu-big", "me")
    assert file != SharedAnswer.named(Path("/r"), "queue", "slurm", "", "gpu-big-me")
