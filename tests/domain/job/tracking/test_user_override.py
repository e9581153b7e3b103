from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.job.tracking.user_override import NOTHING_KNOWN, UserOverride
from jobmon_core.domain.slurm.states import JobState, Outcome

TIMEOUT = End(JobState.TIMEOUT, "TIMEOUT", Outcome.FAILURE, Source.QUEUE, exit_code=0, nodes="n1")


@pytest.mark.parametrize(
    ("words", "state", "uid"),
    [
        ("CANCELLED by 1000", JobState.CANCELLED, 1000),
        ("cancelled", JobState.CANCELLED, None),
        ("OUT_OF_ME+", JobState.OUT_OF_MEMORY, None),
        ("NF", JobState.NODE_FAIL, None),
        (" TIMEOUT ", JobState.TIMEOUT, None),
        ("UNKNOWN", JobState.UNKNOWN, None),
    ],
)
def test_a_state_is_read_as_slurm_writes_it(words: str, state: JobState, uid: int | None) -> None:
    end = UserOverride.parse(words, None).apply_to(NOTHING_KNOWN)
    assert (end.state, end.cancelled_by) == (state, uid)


@pytest.mark.parametrize("words", ["", "bogus", "by 1000", "FAILED:1", "KAPUTT", "\u202e"])
def test_an_unknown_state_is_refused_and_the_error_lists_the_final_states(words: str) -> None:
    with pytest.raises(
        ValueError, match=r"not a Slurm job state; final states are COMPLETED, FAILED, .*NODE_FAIL"
    ):
        UserOverride.parse(words, None)


@pytest.mark.parametrize("words", ["RUNNING", "PD", "COMPLETING", "REQUEUED"])
def test_a_state_that_is_not_final_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match=rf"'{words}' is not a final state; final states are COMPLETED, "):
        UserOverride.parse(words, None)


@pytest.mark.parametrize(("text", "code", "signal"), [("1", 1, 0), ("0:125", 0, 125), (" 137:0 ", 137, 0)])
def test_an_exit_code_is_read_as_slurm_prints_it(text: str, code: int, signal: int) -> None:
    end = UserOverride.parse(None, text).apply_to(NOTHING_KNOWN)
    assert (end.exit_code, end.signal, end.exit_code_exact) == (code, signal, True)


@pytest.mark.parametrize("text", ["", "x", "-1", "256", "1:256", "1:2:3", "1:", ":9", "\u0661"])
def test_text_that_is_not_an_exit_code_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an exit code"):
        UserOverride.parse(None, text)


def test_a_nonzero_exit_code_alone_means_failed_and_zero_means_nothing() -> None:
    for text in ("1", "0:9"):
        assert UserOverride.parse(None, text).apply_to(NOTHING_KNOWN).state is JobState.FAILED
    # a job that reached its time limit has exit code 0 too
    assert UserOverride.parse(None, "0:0").apply_to(NOTHING_KNOWN).state is JobState.UNKNOWN
    assert UserOverride.parse(None, "1").apply_to(TIMEOUT).state is JobState.TIMEOUT


def test_only_what_the_user_states_is_changed() -> None:
    assert UserOverride.parse(None, None).apply_to(TIMEOUT) == TIMEOUT
    overridden = UserOverride.parse("FAILED", None).apply_to(TIMEOUT)
    assert overridden == replace(TIMEOUT, state=JobState.FAILED, raw_state="FAILED")


def test_the_uid_that_cancelled_is_kept_unless_the_user_states_another_end() -> None:
    cancelled = replace(TIMEOUT, state=JobState.CANCELLED, cancelled_by=7)
    assert UserOverride.parse("CANCELLED", None).apply_to(cancelled).cancelled_by == 7
    assert UserOverride.parse("CANCELLED by 8", None).apply_to(cancelled).cancelled_by == 8
    assert UserOverride.parse("FAILED", None).apply_to(cancelled).cancelled_by is None
