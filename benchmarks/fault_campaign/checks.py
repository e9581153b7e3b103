"""What is to be said of a campaign: what was lost, what came twice and why, what came out of order. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.fault_campaign.flaky_discord import Arrival
from benchmarks.fault_campaign.scenario import Event


@dataclass(frozen=True, slots=True)
class Reckoning:
    """The figures of a campaign; the names of the messages where a bound is broken."""

    events: int
    arrivals: int
    lost: tuple[str, ...]
    unknown: tuple[str, ...]  # what nobody was to be told, or not on this channel
    repeats_after_kills: int
    repeats_after_lost_answers: int
    unmarked: tuple[str, ...]  # repeats that do not say so
    unexplained: tuple[str, ...]  # repeats that no kill in a send and no lost answer accounts for
    out_of_order: tuple[str, ...]

    @property
    def broken(self) -> tuple[str, ...]:
        """Every bound that does not hold, in words."""
        named = {
            "lost": self.lost,
            "told of what was not, or on the wrong channel": self.unknown,
            "repeats without a mark": self.unmarked,
            "repeats without a reason": self.unexplained,
            "out of order": self.out_of_order,
        }
        return tuple(f"{what}: {', '.join(ids)}" for what, ids in named.items() if ids)


def reckon(events: Sequence[Event], arrivals: Sequence[Arrival], cut_off: Mapping[str, int]) -> Reckoning:
    """Compare what was to be told with what appeared.

    Args:
        events: everything that was to be told, by job in the order in which it happened.
        arrivals: what appeared, in order.
        cut_off: how many attempts to send each message were under way when their monitor was killed.
    """
    expected = {event.id: event for event in events}
    copies: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        copies[arrival.id].append(arrival)
    unheard = {message: sum(not one.answered for one in several[:-1]) for message, several in copies.items()}
    repeats = {message: len(several) - 1 for message, several in copies.items()}
    after_kills = {message: max(0, number - unheard[message]) for message, number in repeats.items()}
    return Reckoning(
        events=len(events),
        arrivals=len(arrivals),
        lost=tuple(message for message in expected if message not in copies),
        unknown=tuple(one.id for one in arrivals if not _was_due(one, expected)),
        repeats_after_kills=sum(after_kills.values()),
        repeats_after_lost_answers=sum(repeats.values()) - sum(after_kills.values()),
        unmarked=tuple(
            message for message, each in copies.items() if not all(one.marked for one in each[1:])
        ),
        unexplained=tuple(each for each, number in after_kills.items() if number > cut_off.get(each, 0)),
        out_of_order=tuple(_out_of_order(events, arrivals)),
    )


def _was_due(arrival: Arrival, expected: Mapping[str, Event]) -> bool:
    event = expected.get(arrival.id)
    return event is not None and event.route is arrival.route


def _out_of_order(events: Sequence[Event], arrivals: Sequence[Arrival]) -> Iterable[str]:
    """Yield the messages of which a copy came after one that was to follow, of the same job and channel."""
    place = {event.id: number for number, event in enumerate(events)}
    lane = {event.id: (event.job_id, event.route) for event in events}
    latest: Counter[tuple[int, str]] = Counter()
    for arrival in arrivals:
        if arrival.id in place:
            if place[arrival.id] < latest[lane[arrival.id]]:
                yield arrival.id
            latest[lane[arrival.id]] = max(latest[lane[arrival.id]], place[arrival.id])
