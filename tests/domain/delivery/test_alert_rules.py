"""Whether a message is sent, held or counted, as tables of cases."""

from __future__ import annotations

import pytest

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.alert_rules import (
    MUTED,
    QUIET,
    Action,
    Decision,
    Mute,
    MutesAndAcks,
    Sent,
    Situation,
    decide_about,
    targets_of,
)
from jobmon_core.domain.delivery.alert_settings import AlertSettings, QuietHours

CRITICAL, WARNING, INFO = Level.CRITICAL, Level.WARNING, Level.INFO
NIGHT = QuietHours.parse("22:00-07:00")
QUIET_NIGHT = AlertSettings(quiet=NIGHT)
HELD_NIGHT = AlertSettings(quiet=NIGHT, hold_critical=True)
THROTTLED = AlertSettings(throttle_s=600.0)
LIMITED = AlertSettings(per_hour=2)
NOW_S = 1_000_020.0  # the start of a minute
MIDNIGHT, NOON, LAST_MINUTE = 0, 12 * 60, 7 * 60 - 1
STALL = "12 stalled"
SEND = Decision(Action.SEND)


@pytest.mark.parametrize(
    ("level", "minute", "settings", "muted_for_s", "sent_ago", "decision"),
    [
        # without settings, everything is sent
        (INFO, MIDNIGHT, AlertSettings(), None, [(1, STALL)] * 99, SEND),
        # a mute: critical messages are held, others are counted
        (CRITICAL, NOON, AlertSettings(), 60, [], Decision(Action.HOLD, NOW_S + 60, MUTED)),
        (WARNING, NOON, AlertSettings(), 60, [], Decision(Action.COUNT, NOW_S + 60, MUTED)),
        (WARNING, MIDNIGHT, QUIET_NIGHT, 60, [], Decision(Action.COUNT, NOW_S + 60, MUTED)),
        # quiet hours
        (WARNING, MIDNIGHT, QUIET_NIGHT, None, [], Decision(Action.HOLD, NOW_S + 7 * 3600, QUIET)),
        (INFO, LAST_MINUTE, QUIET_NIGHT, None, [], Decision(Action.HOLD, NOW_S + 60, QUIET)),
        (INFO, 7 * 60, QUIET_NIGHT, None, [], SEND),
        (INFO, NOON, QUIET_NIGHT, None, [], SEND),
        (CRITICAL, MIDNIGHT, QUIET_NIGHT, None, [], SEND),
        (CRITICAL, MIDNIGHT, HELD_NIGHT, None, [], Decision(Action.HOLD, NOW_S + 7 * 3600, QUIET)),
        (CRITICAL, NOON, HELD_NIGHT, None, [], SEND),
        # throttling: one message of a kind about a job
        (
            WARNING,
            NOON,
            THROTTLED,
            None,
            [(599, STALL)],
            Decision(Action.COUNT, NOW_S + 1, "at most one such message in 10m"),
        ),
        (WARNING, NOON, THROTTLED, None, [(600, STALL)], SEND),
        (WARNING, NOON, THROTTLED, None, [(1, "12 slow"), (1, "13 stalled")], SEND),
        (CRITICAL, NOON, THROTTLED, None, [(1, STALL)], SEND),
        # the limit per hour
        (
            INFO,
            NOON,
            LIMITED,
            None,
            [(3599, "a"), (10, "b"), (5, "c")],
            Decision(Action.COUNT, NOW_S + 3590, "at most 2 messages per hour"),
        ),
        (INFO, NOON, LIMITED, None, [(3600, "a"), (5, "b")], SEND),
        (CRITICAL, NOON, LIMITED, None, [(1, "a")] * 5, SEND),
        # if both apply, throttling decides
        (
            WARNING,
            NOON,
            AlertSettings(throttle_s=60.0, per_hour=1),
            None,
            [(30, STALL)],
            Decision(Action.COUNT, NOW_S + 30, "at most one such message in 1m"),
        ),
    ],
)
def test_each_message_is_sent_held_or_counted(  # noqa: PLR0917 - the columns of the table
    level: Level,
    minute: int,
    settings: AlertSettings,
    muted_for_s: float | None,
    sent_ago: list[tuple[float, str]],
    decision: Decision,
) -> None:
    muted_until_s = None if muted_for_s is None else NOW_S + muted_for_s
    sent = [Sent(NOW_S - ago_s, subject) for ago_s, subject in sent_ago]
    assert decide_about(Situation(level, STALL, NOW_S, minute, muted_until_s, sent), settings) == decision


@pytest.mark.parametrize("settings", [QUIET_NIGHT, THROTTLED, LIMITED])
def test_nothing_but_a_mute_or_the_users_wish_delays_a_critical_message(settings: AlertSettings) -> None:
    sent = [Sent(NOW_S - 1, STALL)] * 50
    for minute in range(0, 24 * 60, 7):
        assert decide_about(Situation(CRITICAL, STALL, NOW_S, minute, None, sent), settings) == SEND


@pytest.mark.parametrize(
    ("text", "minute", "left"),
    [
        ("22:00-07:00", 22 * 60, 540),
        ("22:00-07:00", 22 * 60 - 1, None),
        ("9:30 - 17:00", 9 * 60 + 30, 450),
        ("9:30 - 17:00", 17 * 60, None),
        ("00:00-23:59", 0, 1439),
    ],
)
def test_quiet_hours_may_pass_midnight(text: str, minute: int, left: int | None) -> None:
    assert QuietHours.parse(text).left_min(minute) == left


@pytest.mark.parametrize("text", ["22-7", "24:00-07:00", "22:60-07:00", "07:00-07:00", "night", ""])
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"22:00-07:00|differ"):
        QuietHours.parse(text)


def test_a_mute_applies_to_its_job_its_group_or_everything_until_it_ends() -> None:
    user = MutesAndAcks({"job:a": Mute(0, 100), "group:sweep": Mute(0, 200), "all": Mute(0, 50)})
    assert user.muted_until_s(targets_of("a", (), "end"), 10) == 100
    assert user.muted_until_s(targets_of("a", ("sweep",), "end"), 10) == 200
    assert user.muted_until_s(targets_of("b", ("other",), "end"), 10) == 50
    assert user.muted_until_s(targets_of("b", (), "end"), 50) is None
    assert user.muted_until_s(targets_of("a", (), "outage"), 60) is None  # it concerns all jobs
    assert user.current(100).mutes.keys() == {"group:sweep"}
