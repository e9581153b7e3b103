"""Messages, the channels that get them, and the result of each attempt to deliver one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from jobmon_core.domain.channels import DeliveryOutcome, Level, Receipt, Route, Tone
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.slurm.states import Outcome

QUIET = "quiet hours"
MUTED = "muted"
_MIN_WAIT_S = 2.0
_MAX_WAIT_S = 300.0
# Each repeat may be a duplicate, but without any the message may be lost: so a few, at growing intervals,
# the last one after more than 72 hours: longer than a weekend without a network
_UNCONFIRMED_WAITS_S = (10.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 86_400.0, 86_400.0)
_ARRIVAL_S = 10.0  # a request may still arrive for this long after its sender was killed


@dataclass(frozen=True, slots=True)
class Field:
    """One named value of a message, e.g. ``Node`` / ``n17``; plain text without markup.

    Of a time, ``at_s`` (Unix seconds), with an empty ``value``: channels show it in the reader's time zone.
    """

    name: str
    value: str = ""
    at_s: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of state, as Slurm writes states."""

    ref: str  # of the job or task
    before: str  # empty if it was not known
    after: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message without any channel's markup. Its texts come from logs and users and may hold anything."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"fields": "facts", "created_s": "made_s", "stated_level": "level"}

    id: str
    route: Route
    tone: Tone
    title: str  # complete on its own: who, what happened, after how long and why
    summary: str = ""
    fields: tuple[Field, ...] = ()
    cause: str = ""
    evidence: tuple[str, ...] = ()  # the log lines that prove the cause, oldest first
    advice: str = ""
    log_path: str = ""
    created_s: int = 0  # Unix seconds
    headline: str = ""  # what happened, without the job that ``title`` names
    also_seen: str = ""  # what else the log shows, which is probably not the cause
    results: tuple[Quote, ...] = ()  # what the results of the job say
    attachment: str = ""  # the path of a text file to attach, if there still is one and the channel takes it
    digestible: bool = False  # it reports the end of a single job, so a digest of several jobs may replace it
    stated_level: Level | None = None  # None, as before version 0.6: the usual one of the tone
    outcome: Outcome | None = None  # of the job whose end it reports, or of one of its tasks
    changes: tuple[Change, ...] = ()  # a message with any goes to programs of the user only

    @property
    def ref(self) -> str:
        """The job or task that it is about, e.g. ``12_3``."""
        return self.id.partition("/")[0]

    @property
    def kind(self) -> str:
        """What it is about, without the job and the time, e.g. ``end`` or ``progress-stalled``."""
        parts = self.id.partition("/")[2].replace("/", "-").split("-")
        return "-".join(part for part in parts if not part.isdigit())

    @property
    def level(self) -> Level:
        """How urgent the message is."""
        return self.stated_level or self.tone.usual_level


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One message for one channel, kept until it is delivered or given up.

    A new entry has no channel yet: `route_to` replaces it by one entry for each channel. State files of
    version 0.1 hold entries without a channel too; one that was attempted went to the route's own webhook.

    Times are Unix seconds. ``attempt_since_s`` is saved before an attempt and removed after it. If a monitor
    finds it on restart, the attempt was interrupted and may have succeeded: the next is a possible repeat.
    ``offered_s`` is saved before another monitor can send the message in a digest; see `send_queue`.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "unconfirmed_attempts": "doubts",
        "channel": "channel_name",
        "fingerprint": "channel",
    }

    message: Message
    attempts: int = 0
    next_try_s: float = 0.0
    attempt_since_s: float | None = None
    maybe_delivered: bool = False  # by an earlier attempt
    unconfirmed_attempts: int = 0  # attempts that were sent and got no response
    plain: bool = False  # send the minimal form, because the channel refused the full one
    delivered_s: float | None = None
    problem: str = ""  # why the latest attempt failed; empty if it did not
    given_up: str = ""  # why no further attempt is made; empty unless jobmon gave up
    channel_was_dead: bool = False  # given up because the channel accepts no message
    channel: str = ""  # the configured name
    fingerprint: str = ""  # of the channel's settings at the latest attempt
    offered_s: float | None = None  # since when a digest may include it
    held: str = ""  # why it waits until ``held_until_s`` without delaying others, e.g. ``quiet hours``
    # ``next_try_s`` may be earlier: then jobmon looks whether the message must still be held
    held_until_s: float | None = None
    # why it is not sent: a digest lists its title instead, or, of a reminder, `jobmon ack` ended it
    counted: str = ""
    instead_of: str = ""  # the channel that did not accept it, so that this one gets it
    told_on: str = ""  # the channel that gets it, since this one did not accept it
    reminders: int = 0  # the number of this reminder, see `reminders`; 0: it is none
    reminds_of_s: float | None = None  # when the message that it reminds of was delivered

    @property
    def key(self) -> tuple[str, str]:
        """The message and the channel, which identify this entry within its outbox."""
        return self.message.id, self.channel

    @property
    def is_open(self) -> bool:
        """Whether it is still to be sent."""
        return self.delivered_s is None and not self.given_up and not self.counted

    @property
    def is_undelivered(self) -> bool:
        """Whether it is pending or was given up."""
        return self.delivered_s is None and not self.counted

    @property
    def is_fresh(self) -> bool:
        """Whether no process can have sent it yet."""
        return self.attempts == 0 and self.offered_s is None

    @property
    def must_stay(self) -> bool:
        """Whether later news cannot replace it."""
        is_held_critical = self.held != "" and self.message.level is Level.CRITICAL
        is_listed = self.counted != "" or self.held not in ("", QUIET)
        return not self.is_fresh or is_listed or is_held_critical

    @property
    def is_repeat(self) -> bool:
        """Whether the next attempt may be a repeat."""
        return self.maybe_delivered or self.attempt_since_s is not None


def route_to(entry: OutboxEntry, channels: Iterable[str]) -> tuple[OutboxEntry, ...]:
    """Return one entry for each of the named channels."""
    if entry.attempts:  # of version 0.1, see OutboxEntry
        return (replace(entry, channel=entry.message.route.value),)
    return tuple(replace(entry, channel=channel) for channel in channels)


def reopened(entry: OutboxEntry) -> OutboxEntry:
    """Return the entry to be sent again if it was given up."""
    if not entry.given_up:
        return entry
    entry = replace(entry, given_up="", channel_was_dead=False, plain=False)
    return replace(entry, attempts=0, unconfirmed_attempts=0, next_try_s=0.0)


def with_replacements(
    outbox: tuple[OutboxEntry, ...], key: tuple[str, str], replacements: tuple[OutboxEntry, ...]
) -> tuple[OutboxEntry, ...]:
    """Return an outbox with the entry ``key`` replaced; a channel gets each message once."""
    others = {entry.key for entry in outbox if entry.key != key}
    new = tuple(entry for entry in replacements if entry.key not in others)
    parts = (new if entry.key == key else (entry,) for entry in outbox)
    return tuple(entry for part in parts for entry in part)


def mark_attempt(entry: OutboxEntry, now_s: float) -> OutboxEntry:
    """Return the entry with the start of an attempt; after an interrupted one, also as a possible repeat."""
    return replace(
        entry,
        attempts=entry.attempts + 1,
        attempt_since_s=now_s,
        maybe_delivered=entry.is_repeat,
        offered_s=None,
    )


def lose_track(entry: OutboxEntry) -> OutboxEntry:
    """Return an offered entry as a possible repeat without its offer: a digest may have included it."""
    if entry.offered_s is not None:
        return replace(entry, offered_s=None, maybe_delivered=True)
    return entry


def unconfirmed_until_s(entry: OutboxEntry, now_s: float) -> float | None:
    """Return until when an interrupted attempt may still arrive; None if it cannot.

    A repeat before that time could arrive first. The interrupted one, which is not marked as a repeat, would
    then be the duplicate and would arrive after later messages.
    """
    if entry.attempt_since_s is None:
        return None
    until_s = entry.attempt_since_s + _ARRIVAL_S
    if entry.attempt_since_s <= now_s < until_s:
        return until_s
    return None


def apply_receipt(entry: OutboxEntry, receipt: Receipt, now_s: float) -> OutboxEntry:
    """Return the entry after the attempt that just ended with ``receipt``."""
    ended = replace(entry, attempt_since_s=None, problem=receipt.why)
    match receipt.outcome:
        case DeliveryOutcome.DELIVERED:
            return replace(ended, delivered_s=now_s)
        case DeliveryOutcome.TRY_AGAIN:
            return replace(ended, next_try_s=now_s + (receipt.retry_after_s or retry_wait_s(entry.attempts)))
        case DeliveryOutcome.MAYBE_DELIVERED:
            return _repeat_or_give_up(ended, receipt, now_s)
        case DeliveryOutcome.REFUSED_BODY if not entry.plain:
            return replace(ended, next_try_s=now_s, plain=True)
        case DeliveryOutcome.REFUSED_BODY | DeliveryOutcome.CHANNEL_DEAD | DeliveryOutcome.GIVE_UP:
            is_dead = receipt.outcome is DeliveryOutcome.CHANNEL_DEAD
            return replace(ended, given_up=receipt.why, channel_was_dead=is_dead)


def retry_wait_s(attempts: int) -> float:
    """Return the seconds to wait after ``attempts`` failures (at least 1): 2, then doubled, up to 300."""
    return min(_MAX_WAIT_S, _MIN_WAIT_S * 2.0 ** min(attempts - 1, 16))


def delivery_status(entry: OutboxEntry, after: OutboxEntry) -> str:
    """Return what became of a message, for the log; no reason contains a webhook's URL."""
    if after.channel != entry.channel:
        return f"goes to channel {after.channel}"
    if after.delivered_s or after.given_up or after.counted:
        return after.given_up or (after.counted and f"is counted: {after.counted}") or "delivered"
    if after.held:
        return f"is held: {after.held}"
    if after.problem:
        return f"not delivered, will be retried: {after.problem}"
    return "waits for its turn"


def _repeat_or_give_up(entry: OutboxEntry, receipt: Receipt, now_s: float) -> OutboxEntry:
    """Schedule a repeat after an attempt without a response; give up after the ninth."""
    attempts = entry.unconfirmed_attempts + 1
    entry = replace(entry, maybe_delivered=True, unconfirmed_attempts=attempts)
    if attempts > len(_UNCONFIRMED_WAITS_S):
        why = f"sent {attempts} times without a response ({receipt.why}); it has probably arrived"
        return replace(entry, given_up=why)
    return replace(entry, next_try_s=now_s + _UNCONFIRMED_WAITS_S[attempts - 1])


KEPT_S = 7 * 86_400.0  # after its delivery: while its record exists, the message is not created again
_GIVEN_UP_KEPT_S = 90 * 86_400.0  # `jobmon status` names it, and `jobmon recover` may send it


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of no job and its outbox: at first one entry without a channel, then one for each."""

    id: str
    outbox: tuple[OutboxEntry, ...]

    @classmethod
    def of(cls, message: Message, channel: str = "") -> StoredMessage:
        """Return the record of a new message; with ``channel``, for this channel only."""
        return cls(message.id, (OutboxEntry(message, channel=channel),))

    @property
    def message(self) -> Message:
        """The message itself."""
        return self.outbox[0].message

    @property
    def is_open(self) -> bool:
        """Whether it is still to be sent to a channel."""
        return any(entry.is_open for entry in self.outbox)

    @property
    def given_up(self) -> str:
        """Why it is not sent to one of its channels; empty if jobmon gave up none of them."""
        return next((entry.given_up for entry in self.outbox if entry.given_up), "")

    @property
    def problem(self) -> str:
        """Why the latest attempt to send it failed, or why it was given up."""
        return next((why for entry in self.outbox if (why := entry.given_up or entry.problem)), "")

    @property
    def due_s(self) -> float | None:
        """When the next attempt is due (Unix seconds); None if none is."""
        return min((entry.next_try_s for entry in self.outbox if entry.is_open), default=None)

    def due(self, now_s: float) -> tuple[OutboxEntry, ...]:
        """Return the entries to be sent now."""
        return tuple(entry for entry in self.outbox if entry.is_open and entry.next_try_s <= now_s)

    def with_entries(self, key: tuple[str, str], replacements: tuple[OutboxEntry, ...]) -> StoredMessage:
        """Do as `with_replacements`."""
        return replace(self, outbox=with_replacements(self.outbox, key, replacements))

    def is_outdated(self, now_s: float) -> bool:
        """Whether it was delivered, or given up, so long ago that its record can be removed."""
        if self.is_open or now_s - self.message.created_s <= KEPT_S:
            return False
        if self.given_up:
            return now_s - self.message.created_s > _GIVEN_UP_KEPT_S
        sent_s = (entry.delivered_s for entry in self.outbox if not entry.counted)
        return all(now_s - (at_s or now_s) > KEPT_S for at_s in sent_s)
