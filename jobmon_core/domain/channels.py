"""What every channel knows of a message: its route, level and tone; and how an attempt to send it can end."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Route(StrEnum):
    """Which of the two default channels a message goes to; a channel may get both routes.

    SUCCESS: completed jobs, what ``messages.also`` adds, and notices of the levels info and progress. ERROR:
    everything else, also cancelled jobs and recoveries.
    """

    SUCCESS = "success"
    ERROR = "error"


class Level(StrEnum):
    """How urgent a message is; the most urgent level comes first."""

    CRITICAL = "critical"  # a crash, no memory, no room on the disk, a failed launch: act now
    WARNING = "warning"  # e.g. a stall, a slowdown, an idle GPU, no response from the scheduler: look at it
    INFO = "info"  # e.g. started, checkpoint saved, completed
    PROGRESS = "progress"  # how far along a running job is

    @property
    def rank(self) -> int:
        """0 for the most urgent level, then 1 and so on."""
        return tuple(Level).index(self)


class Tone(StrEnum):
    """How a message looks: its colour and its symbol."""

    SUCCESS = "success"  # green
    FAILURE = "failure"  # red
    CANCELLED = "cancelled"  # grey
    ATTENTION = "attention"  # amber: the user should look, though no failure is known
    RESOLVED = "relief"  # blue: what needed attention is over

    @property
    def usual_level(self) -> Level:
        """The level of a message of this tone that states none."""
        return _USUAL_LEVELS.get(self, Level.INFO)


_USUAL_LEVELS = {Tone.FAILURE: Level.CRITICAL, Tone.ATTENTION: Level.WARNING}


class DeliveryOutcome(StrEnum):
    """The result of one attempt to deliver a message."""

    DELIVERED = "delivered"
    TRY_AGAIN = "try again"
    MAYBE_DELIVERED = "maybe delivered"  # sent without a response: a repeat may be a duplicate
    REFUSED_BODY = "refused body"  # the channel will never accept this payload; a plainer one may be accepted
    CHANNEL_DEAD = "channel dead"  # the channel will accept no message at all
    GIVE_UP = "give up"  # no further attempt is to be made, for a reason of this message alone


class Receipt(NamedTuple):
    """The result of one attempt to deliver a message."""

    outcome: DeliveryOutcome
    why: str = ""  # empty after a success
    retry_after_s: float | None = None  # None if the channel asks for none
    for_all: bool = False  # the cause affects every message to this channel, not just this one
    advice: str = ""  # what the user who sends a test can do about a failure

    @property
    def is_delivered(self) -> bool:
        """Whether the channel accepted the message."""
        return self.outcome is DeliveryOutcome.DELIVERED


ACCEPTED = Receipt(DeliveryOutcome.DELIVERED)
