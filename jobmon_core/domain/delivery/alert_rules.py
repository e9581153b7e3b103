"""Whether a message is sent now, held, or only listed later: mutes, quiet hours and limits.

1. A mute holds critical messages until its end and counts the others (they are listed later).
2. Quiet hours hold messages until their end; critical ones only if the user wants that.
3. Otherwise, a critical message is always sent.
4. Throttling counts a message if one of the same kind about the same job was sent a short time ago.
5. The limit counts a message if the channel got as many messages as it may within an hour.

A held message is sent in full later. One later message, the carrier, lists the titles of those counted.
All times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.alert_settings import AlertSettings
from jobmon_core.domain.humanize import count, duration

HOUR_S = 3600.0
QUIET = "quiet hours"
MUTED = "muted"
ALL = "all"  # the target of a mute of everything
_OUTAGE = "outage"  # how the kind of a message about an outage begins
_ACK_KEPT_S = 90 * 86_400.0


class Action(StrEnum):
    """What to do with a message."""

    SEND = "send"
    HOLD = "hold"
    COUNT = "count"


class Decision(NamedTuple):
    """What to do with a message, and why."""

    action: Action
    until_s: float = 0.0  # the end of the hold; of `Action.COUNT`, when the list of what was counted is due
    why: str = ""  # for the user


class Sent(NamedTuple):
    """A message that was sent to the channel."""

    at_s: float
    subject: str  # the job and the kind of message


class Situation(NamedTuple):
    """What decides about one message at one moment."""

    level: Level
    subject: str
    now_s: float
    minute: int  # of the day, by the clock of this host
    muted_until_s: float | None = None  # None: not muted
    sent: Collection[Sent] = ()  # to this channel, within the last hour or `throttle_s`, the longer of them


_SEND = Decision(Action.SEND)


def decide_about(situation: Situation, settings: AlertSettings) -> Decision:
    """Return what to do with a message."""
    if decision := muted_or_quiet(situation, settings):
        return decision
    if situation.level is Level.CRITICAL:
        return _SEND
    now_s = situation.now_s
    same = [sent.at_s for sent in situation.sent if sent.subject == situation.subject]
    if same and now_s < (until_s := max(same) + settings.throttle_s):
        return Decision(Action.COUNT, until_s, f"at most one such message in {duration(settings.throttle_s)}")
    recent = sorted(sent.at_s for sent in situation.sent if sent.at_s > now_s - HOUR_S)
    if settings.per_hour and len(recent) >= settings.per_hour:
        until_s = recent[len(recent) - settings.per_hour] + HOUR_S
        return Decision(Action.COUNT, until_s, f"at most {count(settings.per_hour, 'message')} per hour")
    return _SEND


def muted_or_quiet(situation: Situation, settings: AlertSettings) -> Decision | None:
    """Return what a mute or quiet hours do with a message; None if nothing."""
    is_critical = situation.level is Level.CRITICAL
    if situation.muted_until_s is not None:
        return Decision(Action.HOLD if is_critical else Action.COUNT, situation.muted_until_s, MUTED)
    left_min = settings.quiet.left_min(situation.minute) if settings.quiet else None
    if left_min is not None and (settings.hold_critical or not is_critical):
        start_of_minute_s = situation.now_s - situation.now_s % 60
        return Decision(Action.HOLD, start_of_minute_s + 60 * left_min, QUIET)
    return None


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
    """Return the target of a mute of the job with this state id."""
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
