"""What one channel got lately, and what was only counted: not sent, but listed in a later message.

The first message to be counted for a reason is held instead. It is the carrier: at the end of its wait, its
text becomes a list of titles, its own and those of the messages counted meanwhile. If it is still not sent an
hour later, e.g. because its job is no longer watched, the next message that is not critical lists them.
Messages are counted by their ids, so none is counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jobmon_core.domain.channels import Level, Tone
from jobmon_core.domain.delivery.alert_rules import (
    HOUR_S,
    MUTED,
    QUIET,
    Action,
    Sent,
    Situation,
    decide_about,
    muted_or_quiet,
)
from jobmon_core.domain.delivery.alert_settings import AlertSettings
from jobmon_core.domain.delivery.digests import held_back_message
from jobmon_core.domain.delivery.outbox import OutboxEntry

RECHECK_S = 300.0  # between two looks at a held message: a mute may end early
_QUIET_RECHECK_S = 3600.0  # quiet hours only change with the configuration, or with daylight saving time
_LOST_AFTER_S = 3600.0  # a carrier that is so late is gone, e.g. its job is not watched any more
# how long a tally is kept after its carrier listed it: the monitor may be killed before it saves the list
_KEPT_S = 2 * 86_400.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What the carrier tells about a message."""

    tone: Tone
    title: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The messages that were counted for one reason."""

    why: str
    until_s: float  # when the carrier tells them (Unix seconds)
    taken: bool = False  # the carrier lists them, so no further message is added
    messages: dict[str, Counted] = field(default_factory=dict)  # by id; the first is the carrier


@dataclass(frozen=True, slots=True)
class AlertHistory:
    """The recent messages to one channel by id, and the tallies by the id of their carrier."""

    sent: dict[str, Sent] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)

    def current(self, now_s: float, settings: AlertSettings) -> AlertHistory:
        """Return the history without what is out of date, or was sent at a future time (by a wrong clock)."""
        kept_s = max(HOUR_S, settings.throttle_s)
        sent = {key: each for key, each in self.sent.items() if 0 <= now_s - each.at_s < kept_s}
        tallies = {
            key: each
            for key, each in self.tallies.items()
            if not each.taken or now_s - each.until_s < _KEPT_S
        }
        return AlertHistory(sent, tallies)

    def lost(self, now_s: float) -> dict[str, Tally]:
        """Return the tallies whose carriers are gone."""
        return {
            key: tally
            for key, tally in self.tallies.items()
            if not tally.taken and now_s - tally.until_s > _LOST_AFTER_S
        }


def admit(
    history: AlertHistory, entry: OutboxEntry, situation: Situation, settings: AlertSettings
) -> tuple[AlertHistory, OutboxEntry]:
    """Return the history, and the entry of a message that nobody sent yet: to be sent, held or counted.

    ``situation`` needs no ``sent``. The history must be saved before the entry is: then a crash in between
    changes nothing, because the history has the decision.
    """
    now_s, key = situation.now_s, entry.message.id
    history = history.current(now_s, settings)
    if key in history.sent:
        return history, _released(history, entry)
    for carrier, tally in history.tallies.items():
        if key in tally.messages and key != carrier:
            return history, replace(entry, counted=tally.why, held="", held_until_s=None)
    if entry.is_carrier or key in history.tallies:
        return _admit_carrier(history, replace(entry, is_carrier=True), situation, settings)
    decision = decide_about(situation._replace(sent=tuple(history.sent.values())), settings)
    match decision.action:
        case Action.SEND:
            return _sent(history, entry, situation)
        case Action.HOLD:
            return history, _held(entry, decision.why, decision.until_s, now_s)
        case Action.COUNT:
            return _count(history, entry, decision.why, decision.until_s, situation)


def _count(
    history: AlertHistory, entry: OutboxEntry, why: str, until_s: float, situation: Situation
) -> tuple[AlertHistory, OutboxEntry]:
    own = {entry.message.id: Counted(entry.message.tone, entry.message.title)}
    lost = history.lost(situation.now_s)
    for key, tally in history.tallies.items():
        is_told_in_time = why != MUTED or tally.until_s <= until_s  # a longer mute would list it late
        if tally.why == why and is_told_in_time and not tally.taken and key not in lost:
            tallies = {**history.tallies, key: replace(tally, messages={**tally.messages, **own})}
            return replace(history, tallies=tallies), replace(entry, counted=why, held="", held_until_s=None)
    tallies = {**history.tallies, entry.message.id: Tally(why, until_s, messages=own)}
    carrier = _held(replace(entry, is_carrier=True), why, until_s, situation.now_s)
    return replace(history, tallies=tallies), carrier


def _admit_carrier(
    history: AlertHistory, entry: OutboxEntry, situation: Situation, settings: AlertSettings
) -> tuple[AlertHistory, OutboxEntry]:
    now_s, key = situation.now_s, entry.message.id
    tally = history.tallies.get(key)
    if waiting := muted_or_quiet(situation, settings):
        if tally:
            tallies = {**history.tallies, key: replace(tally, until_s=max(now_s, waiting.until_s))}
            history = replace(history, tallies=tallies)
        return history, _held(entry, waiting.why, waiting.until_s, now_s)
    # a mute that ended early holds nothing; another reason holds until its end
    if tally and tally.why != MUTED and not tally.taken and now_s < tally.until_s:
        return history, _held(entry, tally.why, tally.until_s, now_s)
    return _sent(history, entry, situation)


def _sent(
    history: AlertHistory, entry: OutboxEntry, situation: Situation
) -> tuple[AlertHistory, OutboxEntry]:
    key = entry.message.id
    sent = {**history.sent, key: Sent(situation.now_s, situation.subject)}
    tallies = dict(history.tallies)
    if entry.is_carrier and (own := tallies.get(key)):
        tallies[key] = replace(own, taken=True)
    elif situation.level is not Level.CRITICAL and (lost := history.lost(situation.now_s)):
        tallies = {name: tally for name, tally in tallies.items() if name not in lost}
        messages = {name: each for tally in lost.values() for name, each in tally.messages.items()}
        tallies[key] = Tally(next(iter(lost.values())).why, situation.now_s, taken=True, messages=messages)
        entry = replace(entry, is_carrier=True)
    history = AlertHistory(sent, tallies)
    return history, _released(history, entry)


def _released(history: AlertHistory, entry: OutboxEntry) -> OutboxEntry:
    """Return the entry to be sent; a carrier tells what was counted."""
    key = entry.message.id
    tally = history.tallies.get(key) if entry.is_carrier else None
    if tally and (others := [each for name, each in tally.messages.items() if name != key]):
        counted = [(each.tone, each.title) for each in others]
        entry = replace(entry, message=held_back_message(entry.message, tally.why, counted))
    return replace(entry, held="", held_until_s=None, is_carrier=False)


def _held(entry: OutboxEntry, why: str, until_s: float, now_s: float) -> OutboxEntry:
    """Return a held entry: it is looked at again after a while, at the latest at its end."""
    recheck_s = _QUIET_RECHECK_S if why == QUIET else RECHECK_S
    next_try_s = max(now_s + 1.0, min(until_s, now_s + recheck_s))
    return replace(entry, held=why, held_until_s=until_s, next_try_s=next_try_s)
