"""A later message names what was counted, once."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.alert_history import AlertHistory, admit
from jobmon_core.domain.delivery.alert_rules import Situation
from jobmon_core.domain.delivery.alert_settings import AlertSettings, QuietHours
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.system.json_codec import from_json, to_json

LIMITED = AlertSettings(per_hour=1)
NOON = 12 * 60


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
        self.history, entry = admit(self.history, entry, situation, self.settings)
        self.history = from_json(AlertHistory, to_json(self.history))
        return entry


def message(name: str, tone: Tone = Tone.ATTENTION) -> OutboxEntry:
    return OutboxEntry(Message(f"{name}/stalled", Route.ERROR, tone, f"job {name}", created_s=1), channel="c")


def is_sent(entry: OutboxEntry) -> bool:
    return entry.is_open and not entry.held


def test_beyond_the_limit_one_message_tells_all_the_others() -> None:
    channel = Channel()
    assert is_sent(channel.offer(message("1")))
    carrier = channel.offer(message("2"))
    assert (carrier.held, carrier.held_until_s) == (
        "at most 1 message per hour",
        channel.now_s + 3600,
    )
    counted = [channel.offer(message(name)) for name in "345"]
    assert [entry.counted for entry in counted] == ["at most 1 message per hour"] * 3
    assert not any(entry.is_open or entry.is_undelivered for entry in counted)
    channel.now_s += 1800.0
    carrier = channel.offer(carrier)
    assert carrier.held
    channel.now_s += 1800.0
    told = channel.offer(carrier)
    assert is_sent(told)
    assert told.message.title == ("4 messages were held back (at most 1 message per hour): job 2, and 3 more")
    assert told.message.evidence == ("job 2", "job 3", "job 4", "job 5")
    assert told.message.id == carrier.message.id
    assert is_sent(channel.offer(told))  # asked again while it waits for its turn: the same
    assert channel.offer(told).message == told.message


def test_a_single_message_that_had_to_wait_is_sent_in_full() -> None:
    channel = Channel()
    channel.offer(message("1"))
    carrier = channel.offer(message("2"))
    channel.now_s += 3600.0
    assert channel.offer(carrier).message == message("2").message


def test_a_crash_after_a_decision_changes_nothing() -> None:
    channel = Channel()
    first, second, third = message("1"), message("2"), message("3")
    for _ in range(3):  # the entry of a killed monitor is as before the decision
        assert is_sent(channel.offer(first))
        assert channel.offer(second).is_carrier
        assert channel.offer(third).counted
    channel.now_s += 3600.0
    carrier = channel.offer(second)
    for _ in range(2):
        assert channel.offer(carrier).message.evidence == ("job 2", "job 3")


def test_a_message_counted_after_the_carrier_left_gets_a_new_one() -> None:
    channel = Channel()
    channel.offer(message("1"))
    carrier = channel.offer(message("2"))
    channel.now_s += 3600.0
    assert is_sent(channel.offer(carrier))
    assert channel.offer(message("3")).is_carrier


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
    carrier, counted = channel.offer(message("1")), channel.offer(message("2"))
    critical = channel.offer(message("3", Tone.FAILURE))
    assert (carrier.held, counted.counted, critical.held) == ("muted", "muted", "muted")
    channel.now_s += 300
    assert channel.offer(carrier).held
    channel.muted_until_s = None  # `jobmon mute --off`
    told = channel.offer(carrier)
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
    carrier = channel.offer(message("2"))
    channel.offer(message("3"))
    channel.now_s, channel.minute = channel.now_s + 3600, 13 * 60
    carrier = channel.offer(carrier)
    assert carrier.held == "quiet hours"
    channel.now_s, channel.minute = channel.now_s + 3600, 14 * 60
    assert channel.offer(carrier).message.evidence == ("job 2", "job 3")


def test_what_a_lost_carrier_was_to_tell_goes_along_with_the_next_message() -> None:
    channel = Channel()
    channel.offer(message("1"))
    channel.offer(message("2"))  # its job is not watched any more
    channel.offer(message("3"))
    channel.now_s += 3 * 3600
    told = channel.offer(message("4"))
    assert told.message.evidence == ("job 4", "job 2", "job 3")
    assert channel.offer(message("5")).is_carrier


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
    assert channel.offer(second).is_carrier
    assert is_sent(channel.offer(OutboxEntry(replace(stall, id="12/progress-slow-400"))))
