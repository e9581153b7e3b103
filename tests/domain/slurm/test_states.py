from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.states import (
    JobState,
    Phase,
    describe_exit,
    effective_signal,
    exit_phrase,
    labelled_exit,
    stated_reason,
)

WAITING = "PENDING REQUEUED REQUEUE_HOLD REQUEUE_FED SPECIAL_EXIT RESV_DEL_HOLD"
ACTIVE = "RUNNING CONFIGURING SUSPENDED STOPPED RESIZING SIGNALING POWER_UP_NODE EXPEDITING"
FINISHING = "COMPLETING STAGE_OUT UPDATE_DB"
ENDED = (
    "COMPLETED FAILED CANCELLED TIMEOUT OUT_OF_MEMORY DEADLINE BOOT_FAIL LAUNCH_FAILED RECONFIG_FAIL"
    " NODE_FAIL PREEMPTED REVOKED"
)
ABBREVIATIONS = (
    "PD PENDING, RQ REQUEUED, RH REQUEUE_HOLD, RF REQUEUE_FED, SE SPECIAL_EXIT, RD RESV_DEL_HOLD, R RUNNING,"
    "CF CONFIGURING, S SUSPENDED, ST STOPPED, RS RESIZING, SI SIGNALING, CG COMPLETING, SO STAGE_OUT,"
    "CD COMPLETED, F FAILED, CA CANCELLED, TO TIMEOUT, OOM OUT_OF_MEMORY, DL DEADLINE, BF BOOT_FAIL,"
    "NF NODE_FAIL, PR PREEMPTED, RV REVOKED"
)


@pytest.mark.parametrize("word", [*WAITING.split(), *ACTIVE.split(), *FINISHING.split()])
def test_a_job_in_this_state_is_alive(word: str) -> None:
    state = JobState.from_slurm(word)
    assert state == word
    assert state.is_alive


@pytest.mark.parametrize("word", ENDED.split())
def test_a_job_in_this_state_is_not_alive(word: str) -> None:
    state = JobState.from_slurm(word)
    assert state == word
    assert not state.is_alive


def test_every_state_stands_in_the_tables_above() -> None:
    words = {*WAITING.split(), *ACTIVE.split(), *FINISHING.split(), *ENDED.split()}
    assert words | {"UNKNOWN"} == set(JobState)


@pytest.mark.parametrize("pair", ABBREVIATIONS.split(","))
def test_squeues_short_words_are_understood(pair: str) -> None:
    short, long = pair.split()
    assert JobState.from_slurm(short) is JobState(long)


@pytest.mark.parametrize(
    ("written", "state"),
    [
        ("CANCELLED by 1000", JobState.CANCELLED),
        ("CANCELLED+", JobState.CANCELLED),
        ("OUT_OF_ME+", JobState.OUT_OF_MEMORY),
        ("NODE_FA+", JobState.NODE_FAIL),
        (" running \n", JobState.RUNNING),
        ("COMPLET+", JobState.UNKNOWN),  # COMPLETED or COMPLETING: a guess could be an end
        ("RE+", JobState.UNKNOWN),
        ("+", JobState.UNKNOWN),
        ("", JobState.UNKNOWN),
        ("   ", JobState.UNKNOWN),
    ],
)
def test_a_state_is_read_as_slurm_writes_it(written: str, state: JobState) -> None:
    assert JobState.from_slurm(written) is state


@pytest.mark.parametrize(
    "word", ["HIBERNATING", "COMPLETED_WITH_STYLE", "COMPLETED,REQUEUED", "UNKNOWN", "?"]
)
def test_a_word_of_the_future_is_alive_and_no_end(word: str) -> None:
    state = JobState.from_slurm(word)
    assert state is JobState.UNKNOWN
    assert state.is_alive
    assert not state.may_return


def test_only_ends_that_a_requeue_can_undo_may_return() -> None:
    undone = {JobState.NODE_FAIL, JobState.PREEMPTED, JobState.REVOKED}
    assert {state for state in JobState if state.may_return} == undone


@given(st.text())
def test_no_text_makes_reading_a_state_fail(text: str) -> None:
    assert JobState.from_slurm(text) in JobState


@given(st.sampled_from(JobState), st.integers(1, 12))
def test_a_word_cut_by_sacct_is_that_word_or_unknown(state: JobState, kept: int) -> None:
    assert JobState.from_slurm(f"{state[:kept]}+") in (state, JobState.UNKNOWN)


@given(st.sampled_from(JobState))
def test_every_state_has_a_phase(state: JobState) -> None:
    assert state.phase in Phase


def test_a_reason_that_slurm_does_not_give_is_empty() -> None:
    assert [stated_reason(text) for text in ("", "None", "Priority")] == ["", "", "Priority"]


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
