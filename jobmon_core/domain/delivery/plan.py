"""Whether a message is sent now or held: mutes, quiet hours and limits; and what a digest says at the end.

1. A mute holds messages until its end.
2. Quiet hours hold messages until their end; critical ones only if the user wants that.
3. Otherwise, a critical message is always sent.
4. Throttling holds a message if one of the same kind about the same job was sent a short time ago.
5. The limit holds a message if the channel got as many messages as it may within an hour.

What quiet hours hold, and critical messages, are sent in full later. Of the others, one digest is sent: the
first of them that asks after the end lists the titles of all that were held for the same reason, and these
are closed. If none asks for an hour, e.g. because their jobs are no longer watched, the next message that is
not critical is held for a moment and lists them. All times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from jobmon_core.domain.channels import Level, Tone
from jobmon_core.domain.delivery.alert_settings import AlertSettings
from jobmon_core.domain.delivery.digests import held_back_message
from jobmon_core.domain.delivery.outbox import MUTED, QUIET, OutboxEntry
from jobmon_core.domain.humanize import count, duration

HOUR_S = 3600.0
ALL = "all"  # the target of a mute of everything
_OUTAGE = "outage"  # how the kind of a message about an outage begins
_ACK_KEPT_S = 90 * 86_400.0
RECHECK_S = 300.0  # between two looks at a held message: a mute may end early
_QUIET_RECHECK_S = 3600.0  # quiet hours only change with the configuration, or with daylight saving time
_LOST_AFTER_S = 3600.0  # nobody asked for so long after the end of a hold
_KEPT_S = 2 * 86_400.0  # after a digest listed it: a monitor may be killed before it saves that


class Sent(NamedTuple):
    """A message that was sent to the channel."""

    at_s: float
    subject: str  # the job and the kind of message


class Hold(NamedTuple):
    """Why and until when a message is held."""

    why: str  # for the user
    until_s: float
    is_listed: bool = False  # a digest lists it; else it is sent in full


@dataclass(frozen=True, slots=True)
class Held:
    """A message that a digest lists, and the id of the message that did; empty as long as none did."""

    why: str
    until_s: float
    tone: Tone
    title: str
    told_by: str = ""


@dataclass(frozen=True, slots=True)
class AlertHistory:
    """The recent messages to one channel, and those that are held to be listed, by id."""

    sent: dict[str, Sent] = field(default_factory=dict)
    held: dict[str, Held] = field(default_factory=dict)

    @staticmethod
    def upgraded(data: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON of an earlier version, which had ``tallies`` of messages, in today's form."""
        held = {
            key: {"why": tally["why"], "until_s": tally["until_s"], **message}
            | ({"told_by": carrier} if tally.get("taken") else {})
            for carrier, tally in data.get("tallies", {}).items()
            for key, message in tally.get("messages", {}).items()
        }
        return {**data, "held": {**held, **data.get("held", {})}}

    def current(self, now_s: float, settings: AlertSettings) -> AlertHistory:
        """Return what is not out of date, nor was sent at a future time (by a wrong clock)."""
        kept_s = max(HOUR_S, settings.throttle_s)
        sent = {key: each for key, each in self.sent.items() if 0 <= now_s - each.at_s < kept_s}
        held = {
            key: each for key, each in self.held.items() if not each.told_by or now_s - each.until_s < _KEPT_S
        }
        return AlertHistory(sent, held)


class Situation(NamedTuple):
    """What decides about one message at one moment."""

    level: Level
    subject: str
    now_s: float
    minute: int  # of the day, by the clock of this host
    muted_until_s: float | None = None  # None: not muted


def plan(
    history: AlertHistory, entry: OutboxEntry, situation: Situation, settings: AlertSettings
) -> tuple[AlertHistory, OutboxEntry]:
    """Return the history, and the entry of a message that nobody sent yet: to be sent, held or closed.

    The history must be saved before the entry is: then a crash in between changes nothing, because the
    history has the decision.
    """
    now_s, key = situation.now_s, entry.message.id
    history = history.current(now_s, settings)
    own = history.held.get(key)
    if own and own.told_by not in ("", key):
        return history, replace(entry, counted=own.why, held="", held_until_s=None)
    if key in history.sent:
        return history, _released(history, entry)
    hold = _next_hold(history, own, situation, settings)
    if hold is None:
        return _sent(history, entry, own, situation)
    if hold.is_listed or own:
        held = Held(hold.why, hold.until_s, entry.message.tone, entry.message.title)
        if own and hold.why != own.why:  # it waits for another reason now, but is listed for the first
            held = replace(own, until_s=max(now_s, hold.until_s))
        history = replace(history, held={**history.held, key: held})
    recheck_s = RECHECK_S
    if hold.why == QUIET:
        recheck_s = _QUIET_RECHECK_S
    next_try_s = max(now_s + 1.0, min(hold.until_s, now_s + recheck_s))
    return history, replace(entry, held=hold.why, held_until_s=hold.until_s, next_try_s=next_try_s)


def _next_hold(
    history: AlertHistory, own: Held | None, situation: Situation, settings: AlertSettings
) -> Hold | None:
    if own is None:
        return hold_of(history, situation, settings)
    if waiting := _muted_or_quiet(situation, settings):
        return waiting
    # a mute that ended early holds nothing; another reason holds until its end
    is_over = own.why == MUTED or situation.now_s >= own.until_s
    if is_over:
        return None
    return Hold(own.why, own.until_s)


def hold_of(history: AlertHistory, situation: Situation, settings: AlertSettings) -> Hold | None:
    """Return what holds a message that was not held before."""
    if hold := _muted_or_quiet(situation, settings):
        return hold
    if situation.level is Level.CRITICAL:
        return None
    now_s, sent = situation.now_s, history.sent.values()
    same = [each.at_s for each in sent if each.subject == situation.subject]
    if same and now_s < (until_s := max(same) + settings.throttle_s):
        return Hold(f"at most one such message in {duration(settings.throttle_s)}", until_s, is_listed=True)
    recent = sorted(each.at_s for each in sent if each.at_s > now_s - HOUR_S)
    if settings.per_hour and len(recent) >= settings.per_hour:
        until_s = recent[len(recent) - settings.per_hour] + HOUR_S
        return Hold(f"at most {count(settings.per_hour, 'message')} per hour", until_s, is_listed=True)
    for held in history.held.values():
        if not held.told_by and now_s - held.until_s > _LOST_AFTER_S:
            return Hold(held.why, now_s, is_listed=True)
    return None


def _muted_or_quiet(situation: Situation, settings: AlertSettings) -> Hold | None:
    is_critical = situation.level is Level.CRITICAL
    if situation.muted_until_s is not None:
        return Hold(MUTED, situation.muted_until_s, is_listed=not is_critical)
    left_min = settings.quiet.left_min(situation.minute) if settings.quiet else None
    if left_min is not None and (settings.hold_critical or not is_critical):
        start_of_minute_s = situation.now_s - situation.now_s % 60
        return Hold(QUIET, start_of_minute_s + 60 * left_min)
    return None


def _sent(
    history: AlertHistory, entry: OutboxEntry, own: Held | None, situation: Situation
) -> tuple[AlertHistory, OutboxEntry]:
    key = entry.message.id
    sent = {**history.sent, key: Sent(situation.now_s, situation.subject)}
    held = dict(history.held)
    if own:
        listed = {name: each for name, each in held.items() if each.why == own.why and not each.told_by}
        held |= {name: replace(each, told_by=key) for name, each in listed.items()}
    history = AlertHistory(sent, held)
    return history, _released(history, entry)


def _released(history: AlertHistory, entry: OutboxEntry) -> OutboxEntry:
    """Return the entry to be sent; the first time, it also tells what was held for the same reason."""
    key = entry.message.id
    listed = {name: each for name, each in history.held.items() if each.told_by == key}
    own = listed.pop(key, None)
    if own and listed and entry.message.title == own.title:
        titles = [(each.tone, each.title) for each in listed.values()]
        entry = replace(entry, message=held_back_message(entry.message, own.why, titles))
    return replace(entry, held="", held_until_s=None)


@dataclass(frozen=True, slots=True)
class Mute:
    """A mute that the user asked for."""

    since_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class MutesAndAcks:
    """What the user muted and acknowledged by command."""

    mutes: dict[str, Mute] = field(default_factory=dict)  # by target
    acks: dict[str, float] = field(default_factory=dict)  # by state id: when the user acknowledged the job

    def muted_until_s(self, targets: Collection[str], now_s: float) -> float | None:
        """Return until when one of the targets is muted; None if none is."""
        ends = [
            mute.until_s for target, mute in self.mutes.items() if target in targets and now_s < mute.until_s
        ]
        return max(ends, default=None)

    def current(self, now_s: float) -> MutesAndAcks:
        """Return what still matters."""
        mutes = {target: mute for target, mute in self.mutes.items() if now_s < mute.until_s}
        acks = {state_id: at_s for state_id, at_s in self.acks.items() if now_s - at_s < _ACK_KEPT_S}
        return MutesAndAcks(mutes, acks)


def job_target(state_id: str) -> str:
    """Return the target of a mute of a job."""
    return f"job:{state_id}"


def group_target(name: str) -> str:
    """Return the target of a mute of a group of jobs."""
    return f"group:{name}"


def targets_of(state_id: str, groups: Collection[str], kind: str) -> tuple[str, ...]:
    """Return the targets of mutes that apply to a message of this kind about a job.

    An outage concerns all jobs, although one of them reports it: only a mute of everything applies.
    """
    if kind.startswith(_OUTAGE):
        return (ALL,)
    return (ALL, job_target(state_id), *map(group_target, groups))
