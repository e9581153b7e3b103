"""The channels of the configuration, and which of them get a message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, Protocol

from jobmon_core.domain.channels import Level, Receipt, Route, Tone
from jobmon_core.domain.config_section import Section
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:  # `jobmon submit` imports this module, and its user waits
    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry

DOUBTFUL = "doubtful"  # a success that the log or the outputs speak against
OUTCOMES = (*(outcome.value for outcome in Outcome), DOUBTFUL)


class Channel(Protocol):
    """One destination of messages, immutable."""

    @property
    def name(self) -> str:
        """The name shown to users, without the secret."""

    @property
    def fingerprint(self) -> str:
        """What identifies the destination without revealing a secret; safe for state files."""

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Make one attempt to send a message; the caller must have recorded the attempt."""


class ChannelType(NamedTuple):
    """How one type of channel is read from the configuration. Both functions report faults to the section."""

    parse: Callable[[Section], Channel | None]  # reads one object under "channels"
    # the channels of the type's own top-level section, named like the type; their names are reserved
    own_section: Callable[[Section], tuple[ConfiguredChannel, ...]] | None = None
    shares_digests: bool = True  # False: it keeps account of each job, so that each end is sent alone
    notifies: bool = True  # False: it cannot take the place of a channel that failed

    def configured(
        self, name: str, kind: str, routes: tuple[Route, ...], channel: Channel
    ) -> ConfiguredChannel:
        """Return a channel of this type."""
        return ConfiguredChannel(name, kind, routes, channel, self.shares_digests, self.notifies)


class ConfiguredChannel(NamedTuple):
    """One channel of the configuration."""

    name: str
    kind: str  # the value of ``type`` in the configuration
    routes: tuple[Route, ...]  # of the key ``messages``; not the rules of the key ``routes``
    channel: Channel
    shares_digests: bool = True  # see `ChannelType`
    notifies: bool = True


class RouteRule(NamedTuple):
    """Names the channels of the messages that match; an empty condition matches everything."""

    channels: tuple[str, ...]
    levels: tuple[Level, ...] = ()
    outcomes: tuple[str, ...] = ()  # of `OUTCOMES`; only the message about an end has one
    groups: tuple[str, ...] = ()  # names of groups of jobs, or patterns like ``sweep*``

    def matches(self, message: Message, groups: Collection[str]) -> bool:
        """Whether the rule applies to a message about a job in these groups."""
        if self.levels and message.level not in self.levels:
            return False
        if self.outcomes and _outcome(message) not in self.outcomes:
            return False
        return not self.groups or any(
            fnmatchcase(group, pattern) for group in groups for pattern in self.groups
        )


def _outcome(message: Message) -> str | None:
    is_doubtful = message.outcome is Outcome.SUCCESS and message.tone is Tone.ATTENTION
    if is_doubtful:
        return DOUBTFUL
    return message.outcome


def parse_routes(routes: Iterable[Section], channels: Collection[str]) -> tuple[RouteRule, ...]:
    """Read the list ``routes`` of the configuration; ``channels`` are the names of all channels."""
    return tuple(_parse_route(section, channels) for section in routes)


def _parse_route(section: Section, channels: Collection[str]) -> RouteRule:
    named = section.texts("channels")
    if not named:
        section.fault("channels", "name at least one channel")
    for name in named:
        if name not in channels:
            known = ", ".join(sorted(channels)) or "none"
            section.fault("channels", f"no channel is named {name!r}; configured: {known}")
    rule = RouteRule(
        tuple(named),
        tuple(Level(each) for each in section.choices("level", tuple(Level))),
        section.choices("outcome", OUTCOMES),
        tuple(section.texts("group")),
    )
    section.close()
    return rule
