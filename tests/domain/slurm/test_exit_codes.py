from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.exit_codes import describe_exit, effective_signal, exit_phrase, labelled_exit


@pytest.mark.parametrize(
    ("code", "signal", "words"),
    [
        (0, 0, "0 (success)"),
        (1, 0, "1"),
        (2, 0, "2"),
        (3, None, "3"),
        (126, 0, "126 (found, but could not be executed)"),
        (127, 0, "127 (command not found)"),
        (137, 0, "137 (128 + 9: killed by SIGKILL)"),
        (168, 0, "168 (128 + 40: killed by signal 40)"),
        (255, 0, "255"),
        (0, 11, "killed by signal 11 (SIGSEGV: segmentation fault)"),
        (0, 40, "killed by signal 40"),
        (None, None, "unknown"),
    ],
)
def test_exits_are_told_in_words(code: int | None, signal: int | None, words: str) -> None:
    assert describe_exit(code, signal) == words


@pytest.mark.parametrize(
    ("code", "signal", "label", "phrase"),
    [
        (1, 0, ("exit code", "1"), "exit code 1"),
        (0, 15, ("signal", "15 (SIGTERM: terminated)"), "killed by signal 15 (SIGTERM: terminated)"),
        (0, 40, ("signal", "40"), "killed by signal 40"),
    ],
)
def test_only_an_exit_code_is_called_one(code: int, signal: int, label: tuple[str, str], phrase: str) -> None:
    assert labelled_exit(code, signal) == label
    assert exit_phrase(code, signal) == phrase


def test_the_signals_that_only_slurm_has_are_told_by_their_meaning() -> None:
    assert "output file" in describe_exit(0, 53)
    assert "more memory" in describe_exit(0, 125)


def test_a_signal_is_also_known_from_a_shells_exit_code() -> None:
    assert effective_signal(139, 0) == 11
    assert effective_signal(0, 9) == 9
    assert effective_signal(1, 0) is None
    assert effective_signal(255, None) is None


@given(st.none() | st.integers(), st.none() | st.integers())
def test_no_number_makes_the_description_raise_or_be_empty(code: int | None, signal: int | None) -> None:
    assert describe_exit(code, signal)
