from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Message, Owed, Receipt, Tone, Verdict, settled
from jobmon_core.domain.delivery.send_queue import PACE_S, Lane, ask, leave

NOW = 1_000_000.0
REFUSED = Receipt(Verdict.TRY_AGAIN, "no network", for_all=True)
STRANGE = Receipt(Verdict.TRY_AGAIN, "502")


def message(name: str, made_s: int = 900_000) -> Message:
    return Message(name, Route.ERROR, Tone.FAILURE, "it failed", made_s=made_s)


OLD, YOUNG = message("z", 900_000), message("a", 950_000)


def failed(lane: Lane, what: Message, receipt: Receipt, now_s: float) -> Lane:
    """The lane after an attempt that failed with a wait of 100 s."""
    waiting = settled(Owed(what, attempts=1), replace(receipt, retry_after_s=100.0), now_s)
    return leave(lane, waiting, receipt, now_s)


def arrived(lane: Lane, what: Message, now_s: float) -> Lane:
    return leave(lane, Owed(what, delivered_s=now_s), Receipt(Verdict.DELIVERED), now_s)


def in_trouble_for(seconds: int) -> Lane:
    """The lane after an old message met one strange answer after the other."""
    lane = Lane()
    for later_s in range(0, seconds + 1, 100):
        lane = failed(ask(lane, OLD, NOW + later_s)[0], OLD, STRANGE, NOW + later_s)
    return lane


def test_where_nobody_waits_a_message_goes_at_once() -> None:
    assert ask(Lane(), OLD, NOW)[1] is None


def test_a_younger_message_waits_until_the_older_one_is_done() -> None:
    lane, _ = ask(Lane(), OLD, NOW)
    lane, again_s = ask(lane, YOUNG, NOW)
    assert again_s == NOW + PACE_S
    assert ask(arrived(lane, OLD, NOW + 1), YOUNG, again_s)[1] is None


def test_an_older_message_does_not_wait_for_a_younger_one() -> None:
    lane, _ = ask(Lane(), YOUNG, NOW)
    assert ask(lane, OLD, NOW)[1] is None


def test_messages_of_the_same_moment_take_turns_by_their_names() -> None:
    first, second = message("a"), message("b")
    lane, _ = ask(Lane(), first, NOW)
    assert ask(lane, second, NOW)[1] == NOW + PACE_S
    lane, _ = ask(Lane(), second, NOW)
    assert ask(lane, first, NOW)[1] is None


def test_a_channel_that_refused_one_for_all_is_shut_for_all_until_the_oldest_tries_again() -> None:
    lane = failed(ask(Lane(), OLD, NOW)[0], OLD, REFUSED, NOW)
    lane, again_s = ask(lane, YOUNG, NOW + 1)
    assert again_s == NOW + 100 + PACE_S
    assert ask(lane, OLD, NOW + 99)[1] == NOW + 100
    assert ask(lane, OLD, NOW + 100)[1] is None


def test_many_that_wait_are_told_to_come_one_after_the_other() -> None:
    lane, turns = Lane(shut_until_s=NOW + 50), []
    for number in range(4):
        lane, again_s = ask(lane, message(f"m{number}", number), NOW)
        turns.append(again_s)
    assert turns == [NOW + 50 + PACE_S * number for number in range(4)]


def test_one_that_does_not_come_back_holds_nobody_up_for_long() -> None:
    lane, _ = ask(Lane(), OLD, NOW)
    assert ask(lane, YOUNG, NOW + 60)[1] is not None
    lane, again_s = ask(lane, YOUNG, NOW + 120)
    assert again_s is None
    assert list(lane.places) == ["a"]


def test_trouble_that_may_be_a_messages_own_holds_the_others_up_for_an_hour() -> None:
    lane = in_trouble_for(3500)
    assert ask(lane, YOUNG, NOW + 3501)[1] == NOW + 3600 + PACE_S
    lane = in_trouble_for(3700)
    assert lane.shut_until_s == NOW + 3600
    assert ask(lane, YOUNG, NOW + 3701)[1] is None


def test_trouble_that_is_for_all_ends_the_suspicion() -> None:
    lane = in_trouble_for(3700)
    lane = failed(ask(lane, OLD, NOW + 3800)[0], OLD, REFUSED, NOW + 3800)
    assert ask(lane, YOUNG, NOW + 3801)[1] is not None


def test_a_lane_that_a_wrong_clock_shut_for_years_is_open() -> None:
    year_s = 365 * 86_400.0
    lane = failed(ask(Lane(), OLD, NOW + year_s)[0], OLD, REFUSED, NOW + year_s)
    assert lane.shut_until_s == NOW + year_s + 100
    lane, again_s = ask(lane, YOUNG, NOW)
    assert again_s is None
    assert list(lane.places) == ["a"], "nobody who will come in a year is waited for"
    for nonsense in (float("inf"), float("nan")):
        assert ask(Lane(nonsense), YOUNG, NOW)[1] is None


def test_one_whose_answer_was_lost_waits_by_itself() -> None:
    lane, _ = ask(Lane(), OLD, NOW)
    doubted = Receipt(Verdict.MAYBE_DELIVERED, "no answer")
    lane = leave(lane, settled(Owed(OLD), doubted, NOW), doubted, NOW)
    assert ask(lane, YOUNG, NOW + 1)[1] is None
