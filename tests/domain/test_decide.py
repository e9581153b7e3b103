"""How long a proved end waits for accounting, and when its monitor comes back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.decide import accounting_timeout_s, wake_s
from jobmon_core.domain.slurm.rows import NO_HURRY_S
from jobmon_core.domain.tracking.policy import Policy
from tests.support.play import START_S, Play, record, row

POLICY = Policy(running_s=300.0, accounting_grace_s=30.0)


def seen_late(late_s: float, *, word: str = "TIMEOUT") -> Play:
    """A job whose end is seen so many seconds after it."""
    told = replace(record("12", word), end_s=int(START_S - late_s))
    return Play(POLICY).queue(row("12", word)).record(told)


def within_s(play: Play, *, silent: bool = False) -> float:
    return accounting_timeout_s(play.job, POLICY, play.now_s, silent=silent)


def seconds_until_told(play: Play) -> int:
    waited_s = 0
    while not play.job.ended:
        play.later(1)
        waited_s += 1
    return waited_s


@pytest.mark.parametrize(("late_s", "waits_s"), [(0, 30), (10, 20), (15, 15)])
def test_the_grace_runs_from_the_end_and_not_from_the_look_that_showed_it(late_s: int, waits_s: int) -> None:
    assert seconds_until_told(seen_late(late_s)) == waits_s


def test_a_look_that_came_late_leaves_half_of_the_grace() -> None:
    assert seconds_until_told(seen_late(4_000)) == 15


def test_a_controller_whose_clock_is_ahead_lengthens_no_grace() -> None:
    assert seconds_until_told(seen_late(-500)) == 30


def test_without_a_record_the_grace_runs_from_the_look() -> None:
    assert seconds_until_told(Play(POLICY).queue(row("12", "TIMEOUT")).record()) == 30


def test_what_is_proved_is_told_when_its_grace_is_over_however_far_the_next_question_is() -> None:
    play = seen_late(10)
    for _ in range(3):
        while not play.asks_accounting():
            play.later(1)
        play.accounting()
    next_ask_s = play.job.tasks[""].inquiry.next_query_s if play.job.tasks[""].inquiry else 0.0
    assert next_ask_s > START_S + 20
    assert wake_s(play.job, POLICY, START_S, play.now_s) == START_S + 20


def test_a_grace_that_is_over_wakes_nobody() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED"))
    play.record(record("12_1", "COMPLETED")).later(40).accounting_down()
    assert not play.job.ended  # of an array accounting has to be heard
    assert wake_s(play.job, POLICY, START_S, play.now_s) > play.now_s


def test_accounting_may_take_no_longer_to_answer_than_a_proved_end_waits_for_it() -> None:
    play = Play(POLICY).queue(row("12", "TIMEOUT")).record(record("12", "TIMEOUT"))
    assert within_s(play) == 30
    assert within_s(play.later(8)) == 22


def test_the_first_question_is_given_what_a_slow_database_needs_and_a_later_one_a_moment() -> None:
    play = seen_late(10).later(2)
    assert within_s(play.later(17)) == 20
    play.accounting()
    assert within_s(play) == 3


def test_an_accounting_that_was_silent_a_moment_ago_makes_no_message_later() -> None:
    play = seen_late(10)
    assert within_s(play, silent=True) == 20
    assert within_s(play.later(14), silent=True) == 6
    assert within_s(play.later(5), silent=True) == 3


def test_a_question_that_comes_when_the_wait_is_over_is_given_no_more_for_that() -> None:
    play = seen_late(10)
    assert accounting_timeout_s(play.job, POLICY, play.now_s + 60, silent=True) == 3


def test_accounting_may_take_its_time_while_a_part_of_the_job_lives() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED"), row("12_2", "RUNNING"))
    play.record(record("12_1", "COMPLETED"), record("12_2", "RUNNING"))
    assert within_s(play) == NO_HURRY_S


def test_accounting_may_take_its_time_where_it_is_the_only_witness() -> None:
    play = Play(POLICY).queue(row("12", "RUNNING")).later(300).queue().record()
    assert within_s(play) == NO_HURRY_S


def test_accounting_may_take_its_time_where_an_array_has_to_hear_it() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED")).later(40)
    assert within_s(play) == NO_HURRY_S


def test_of_an_array_the_first_question_holds_nobody_up_for_longer_than_any() -> None:
    play = Play(POLICY).queue(row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    assert within_s(play) == 30
