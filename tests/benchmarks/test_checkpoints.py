"""How `benchmarks/checkpoints.py` judges what jobmon says of the checkpoints of a program that was killed."""

from __future__ import annotations

import pytest

from benchmarks.checkpoint_parts.runs import Answer


def _answer(named: int | None, *, is_loadable: bool) -> Answer:
    return Answer("a layout", "1.0", "killed", named, "", is_begun=True, is_loadable=is_loadable)


@pytest.mark.parametrize("is_loadable", [True, False])
@pytest.mark.parametrize("named", [None, 100, 200, 300])
def test_an_answer_is_wrong_unless_the_named_step_is_the_last_before_or_can_be_loaded(
    named: int | None, *, is_loadable: bool
) -> None:
    assert _answer(named, is_loadable=is_loadable).is_wrong == (
        named not in ((200, 300) if is_loadable else (200,))
    )


def test_a_complete_step_that_jobmon_does_not_name_is_overlooked() -> None:
    assert _answer(200, is_loadable=True).is_overlooked
    assert not _answer(300, is_loadable=True).is_overlooked
    assert not _answer(200, is_loadable=False).is_overlooked
