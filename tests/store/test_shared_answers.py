from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer

names = st.lists(st.text(max_size=8), min_size=4, max_size=4).map(tuple)


@pytest.fixture
def file(tmp_path: Path) -> SharedAnswer:
    return SharedAnswer.named(tmp_path, "queue", "slurm", "", "me")


def test_an_answer_written_is_the_answer_read(file: SharedAnswer) -> None:
    reply = StoredAnswer(5.0, "12|R\n\udcff", "", about=(1, 2), wanted={"3": 4.5})
    file.write(reply)
    assert file.read() == reply
    assert file.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "{", "[]", '{"asked_s": "x"}', "[" * 100_000])
def test_an_answer_that_cannot_be_read_is_none(file: SharedAnswer, content: str) -> None:
    file.path.write_text(content, encoding="ascii")
    assert file.read() == StoredAnswer()


def test_a_link_is_no_answer(file: SharedAnswer, tmp_path: Path) -> None:
    file.write(StoredAnswer(5.0, "theirs"))
    file.path.rename(tmp_path / "elsewhere")
    file.path.symlink_to(tmp_path / "elsewhere")
    assert file.read() == StoredAnswer()


@given(names, names)
def test_no_two_kinds_of_answers_share_a_file(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    first, second = (SharedAnswer.named(Path("/r"), *kind) for kind in (one, other))
    assert (first.path == second.path) == (one == other)
    assert (first.lock_path == second.lock_path) == (one == other)
    assert first.path.parent == Path("/r")


def test_a_hyphen_in_a_name_makes_no_other_cluster_of_it() -> None:
    mine = SharedAnswer.named(Path("/r"), "queue", "slurm", "gpu", "big-me")
    assert mine != SharedAnswer.named(Path("/r"), "queue", "slurm", "gpu-big", "me")
    assert mine != SharedAnswer.named(Path("/r"), "queue", "slurm", "", "gpu-big-me")
