"""What holds a message, and how a digest names what was held, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.alert_settings import AlertSettings, QuietHours
from jobmon_core.domain.delivery.outbox import MUTED, QUIET, Message, OutboxEntry
from jobmon_core.domain.delivery.plan import (
    AlertHistory,
    Hold,
    Mute,
    MutesAndAcks,
    Sent,
    Situation,
    hold_of,
    plan,
    targets_of,
)
from jobmon_core.system.json_codec import from_json, to_json

LIMITED = AlertSettings(per_hour=1)
NOON = 12 * 60
CRITICAL, WARNING, INFO = Level.CRITICAL, Level.WARNING, Level.INFO
NIGHT = QuietHours.parse("22:00-07:00")
QUIET_NIGHT = AlertSettings(quiet=NIGHT)
HELD_NIGHT = AlertSettings(quiet=NIGHT, hold_critical=True)
THROTTLED = AlertSettings(throttle_s=600.0)
TWO_AN_HOUR = AlertSettings(per_hour=2)
NOW_S = 1_000_020.0  # the start of a minute
MIDNIGHT, LAST_MINUTE = 0, 7 * 60 - 1
STALL = "12 stalled"


class Channel:
    """The history of one channel, read from its JSON before each message."""

    def __init__(self, settings: AlertSettings = LIMITED) -> None:
        self.settings = settings
        self.history = AlertHistory()
        self.now_s = 1_000_020.0
        self.minute = NOON
        self.muted_until_s: float | None = None

    def offer(self, entry: OutboxEntry) -> OutboxEntry:
        level = entry.message.level
        subject = f"{entry.message.ref} {entry.message.kind}"
        situation = Situation(level, subject, self.now_s, self.minute, self.muted_until_s)
        self.history, entry = plan(self.history, entry, situation, self.settings)
        self.history = from_json(AlertHistory, to_json(self.history))
        return entry


def message(name: str, tone: Tone = Tone.ATTENTION) -> OutboxEntry:
    return OutboxEntry(Message(f"{name}/stalled", Route.ERROR, tone, f"job {name}", created_s=1), channel="c")


def is_sent(entry: OutboxEntry) -> bool:
    return entry.is_open and not entry.held


def test_beyond_the_limit_one_message_tells_all_the_others() -> None:
    channel = Channel()
    assert is_sent(channel.offer(message("1")))
    held = [channel.offer(message(name)) for name in "2345"]
    limit = ("at most 1 message per hour", channel.now_s + 3600)
    assert [(entry.held, entry.held_until_s) for entry in held] == [limit] * 4
    channel.now_s += 1800.0
    held = [channel.offer(entry) for entry in held]
    assert all(entry.held for entry in held)
    channel.now_s += 1800.0
    first, *others = held
    told = channel.offer(first)
    assert is_sent(told)
    assert told.message.title == ("4 messages were held back (at most 1 message per hour): job 2, and 3 more")
    assert told.message.evidence == ("job 2", "job 3", "job 4", "job 5")
    assert told.message.id == first.message.id
    assert is_sent(channel.offer(told))  # asked again while it waits for its turn: the same
    assert channel.offer(told).message == told.message
    listed = [channel.offer(entry) for entry in others]
    assert [entry.counted for entry in listed] == ["at most 1 message per hour"] * 3
    assert not any(entry.is_open or entry.is_undelivered for entry in listed)


def test_a_single_message_that_had_to_wait_is_sent_in_full() -> None:
    channel = Channel()
    channel.offer(message("1"))
    held = channel.offer(message("2"))
    channel.now_s += 3600.0
    assert channel.offer(held).message == message("2").message


def test_a_crash_after_a_decision_changes_nothing() -> None:
    channel = Channel()
    first, second, third = message("1"), message("2"), message("3")
    for _ in range(3):  # the entry of a killed monitor is as before the decision
        assert is_sent(channel.offer(first))
        assert channel.offer(second).held
        assert channel.offer(third).held
    channel.now_s += 3600.0
    for _ in range(2):
        assert channel.offer(second).message.evidence == ("job 2", "job 3")
        assert channel.offer(third).counted


def test_a_message_held_after_the_digest_left_waits_for_the_next_one() -> None:
    channel = Channel()
    channel.offer(message("1"))
    held = channel.offer(message("2"))
    channel.now_s += 3600.0
    assert is_sent(channel.offer(held))
    assert channel.offer(message("3")).held


def test_a_critical_message_is_neither_counted_nor_does_it_lose_its_details() -> None:
    channel = Channel()
    channel.offer(message("1"))
    channel.offer(message("2"))
    critical = message("3", Tone.FAILURE)
    assert channel.offer(critical).message == critical.message
    assert is_sent(channel.offer(critical))


def test_what_was_muted_is_told_when_the_mute_ends_even_early() -> None:
    channel = Channel(AlertSettings())
    channel.muted_until_s = channel.now_s + 7200
    first, second = channel.offer(message("1")), channel.offer(message("2"))
    critical = channel.offer(message("3", Tone.FAILURE))
    assert (first.held, second.held, critical.held) == ("muted", "muted", "muted")
    channel.now_s += 300
    assert channel.offer(first).held
    channel.muted_until_s = None  # `jobmon mute --off`
    told = channel.offer(first)
    assert told.message.title == "2 messages were held back (muted): job 1, and 1 more"
    assert told.message.level is Level.WARNING
    assert channel.offer(critical).message.title == "job 3"


def test_quiet_hours_hold_each_message_until_they_end() -> None:
    channel = Channel(AlertSettings(quiet=QuietHours.parse("22:00-07:00")))
    channel.minute = 6 * 60 + 58
    held = channel.offer(message("1"))
    assert (held.held, held.held_until_s, held.next_try_s) == (
        "quiet hours",
        channel.now_s + 120,
        channel.now_s + 120,
    )
    channel.minute, channel.now_s = 7 * 60, channel.now_s + 120
    assert channel.offer(held).message == held.message
    assert is_sent(channel.offer(held))


def test_a_summary_waits_for_the_end_of_quiet_hours_too() -> None:
    channel = Channel(AlertSettings(per_hour=1, quiet=QuietHours.parse("13:00-14:00")))
    channel.offer(message("1"))
    held = channel.offer(message("2"))
    channel.offer(message("3"))
    channel.now_s, channel.minute = channel.now_s + 3600, 13 * 60
    held = channel.offer(held)
    assert held.held == "quiet hours"
    channel.now_s, channel.minute = channel.now_s + 3600, 14 * 60
    assert channel.offer(held).message.evidence == ("job 2", "job 3")


def test_what_nobody_asked_for_goes_along_with_the_next_message() -> None:
    channel = Channel()
    channel.offer(message("1"))
    channel.offer(message("2"))  # the jobs are not watched any more
    channel.offer(message("3"))
    channel.now_s += 3 * 3600
    held = channel.offer(message("4"))
    channel.now_s = held.next_try_s
    told = channel.offer(held)
    assert told.message.evidence == ("job 4", "job 2", "job 3")
    assert channel.offer(message("5")).held


def test_a_clock_that_was_set_back_limits_nothing() -> None:
    channel = Channel()
    channel.offer(message("1"))
    channel.now_s -= 86_400
    assert is_sent(channel.offer(message("2")))


def test_throttling_looks_at_the_kind_without_its_time() -> None:
    channel = Channel(AlertSettings(throttle_s=600.0))
    stall = Message("12/progress-stalled-100", Route.ERROR, Tone.ATTENTION, "no progress")
    first, second = OutboxEntry(stall), OutboxEntry(replace(stall, id="12/progress-stalled-400"))
    assert is_sent(channel.offer(first))
    assert channel.offer(second).held
    assert is_sent(channel.offer(OutboxEntry(replace(stall, id="12/progress-slow-400"))))


@pytest.mark.parametrize(
    ("level", "minute", "settings", "muted_for_s", "sent_ago", "hold"),
    [
        # without settings, everything is sent
        (INFO, MIDNIGHT, AlertSettings(), None, [(n, STALL) for n in range(99)], None),
        # a mute: critical messages are held, others are listed at its end
        (CRITICAL, NOON, AlertSettings(), 60, [], Hold(MUTED, NOW_S + 60)),
        (WARNING, NOON, AlertSettings(), 60, [], Hold(MUTED, NOW_S + 60, is_listed=True)),
        (WARNING, MIDNIGHT, QUIET_NIGHT, 60, [], Hold(MUTED, NOW_S + 60, is_listed=True)),
        # quiet hours
        (WARNING, MIDNIGHT, QUIET_NIGHT, None, [], Hold(QUIET, NOW_S + 7 * 3600)),
        (INFO, LAST_MINUTE, QUIET_NIGHT, None, [], Hold(QUIET, NOW_S + 60)),
        (INFO, 7 * 60, QUIET_NIGHT, None, [], None),
        (INFO, NOON, QUIET_NIGHT, None, [], None),
        (CRITICAL, MIDNIGHT, QUIET_NIGHT, None, [], None),
        (CRITICAL, MIDNIGHT, HELD_NIGHT, None, [], Hold(QUIET, NOW_S + 7 * 3600)),
        (CRITICAL, NOON, HELD_NIGHT, None, [], None),
        # throttling: one message of a kind about a job
        (
            WARNING,
            NOON,
            THROTTLED,
            None,
            [(599, STALL)],
            Hold("at most one such message in 10m", NOW_S + 1, is_listed=True),
        ),
        (WARNING, NOON, THROTTLED, None, [(600, STALL)], None),
        (WARNING, NOON, THROTTLED, None, [(1, "12 slow"), (1, "13 stalled")], None),
        (CRITICAL, NOON, THROTTLED, None, [(1, STALL)], None),
        # the limit per hour
        (
            INFO,
            NOON,
            TWO_AN_HOUR,
            None,
            [(3599, "a"), (10, "b"), (5, "c")],
            Hold("at most 2 messages per hour", NOW_S + 3590, is_listed=True),
        ),
        (INFO, NOON, TWO_AN_HOUR, None, [(3600, "a"), (5, "b")], None),
        (CRITICAL, NOON, TWO_AN_HOUR, None, [(n, "a") for n in range(5)], None),
        # if both apply, throttling decides
        (
            WARNING,
            NOON,
            AlertSettings(throttle_s=60.0, per_hour=1),
            None,
            [(30, STALL)],
            Hold("at most one such message in 1m", NOW_S + 30, is_listed=True),
        ),
    ],
)
def test_each_message_is_sent_or_held(  # noqa: PLR0917 - the columns of the table
    level: Level,
    minute: int,
    settings: AlertSettings,
    muted_for_s: float | None,
    sent_ago: list[tuple[float, str]],
    hold: Hold | None,
) -> None:
    muted_until_s = None if muted_for_s is None else NOW_S + muted_for_s
    history = AlertHistory({str(ago_s): Sent(NOW_S - ago_s, subject) for ago_s, subject in sent_ago})
    assert hold_of(history, Situation(level, STALL, NOW_S, minute, muted_until_s), settings) == hold


@pytest.mark.parametrize("settings", [QUIET_NIGHT, THROTTLED, TWO_AN_HOUR])
def test_nothing_but_a_mute_or_the_users_wish_delays_a_critical_message(settings: AlertSettings) -> None:
    history = AlertHistory({str(number): Sent(NOW_S - 1, STALL) for number in range(50)})
    for minute in range(0, 24 * 60, 7):
        assert hold_of(history, Situation(CRITICAL, STALL, NOW_S, minute), settings) is None


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


def test_the_history_of_an_earlier_version_is_told_too() -> None:
    written = {
        "sent": {"1/stalled": {"at_s": 1_000_000.0, "subject": "1 stalled"}},
        "tallies": {
            "2/stalled": {
                "why": "at most 1 message per hour",
                "until_s": 1_003_600.0,
                "messages": {
                    "2/stalled": {"tone": "attention", "title": "job 2"},
                    "3/stalled": {"tone": "attention", "title": "job 3"},
                },
            }
        },
    }
    channel = Channel()
    channel.history = from_json(AlertHistory, written)
    channel.now_s = 1_003_600.0
    carrier = replace(message("2"), held="at most 1 message per hour", held_until_s=1_003_600.0)
    assert channel.offer(carrier).message.evidence == ("job 2", "job 3")
