"""Which channels get a message: the routes of the configuration."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import Level
from jobmon_core.domain.config_section import Section
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:  # `jobmon submit` imports this module, and its user waits
    from jobmon_core.domain.delivery.outbox import Message

DOUBTFUL = "doubtful"  # a success that the log or the outputs speak against
OUTCOMES = (*(outcome.value for outcome in Outcome), DOUBTFUL)


class RouteRule(NamedTuple):
    """Names the channels of the messages that match; an empty condition matches everything."""

    channels: tuple[str, ...]
    levels: tuple[Level, ...] = ()
    outcomes: tuple[str, ...] = ()  # of `OUTCOMES`; only the message about an end has one
    groups: tuple[str, ...] = ()  # names of groups of jobs, or patterns like ``sweep*``

    def matches(self, message: Message, groups: Collection[str]) -> bool:
        """Return whether the rule applies to a message about a job in these groups."""
        if self.levels and message.level not in self.levels:
            return False
        if self.outcomes and _outcome(message) not in self.outcomes:
            return False
        return not self.groups or any(
            fnmatchcase(group, pattern) for group in groups for pattern in self.groups
        )


def _outcome(message: Message) -> str | None:
    from jobmon_core.domain.delivery.outbox import Tone  # not at the top, so that submit need not wait

    is_doubtful = message.outcome is Outcome.SUCCESS and message.tone is Tone.ATTENTION
    return DOUBTFUL if is_doubtful else message.outcome


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
