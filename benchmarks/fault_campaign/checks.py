"""Compare the messages that arrived with the expected ones: lost, repeated, out of order. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.fault_campaign.flaky_discord import Arrival
from benchmarks.fault_campaign.scenario import Event, Scenario
from jobmon_core.domain.job.history.record import HistoryRecord


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """The figures of a campaign; where a bound is broken, the ids of the messages that broke it."""

    events: int
    arrivals: int
    digests: int  # different ones that arrived
    lost: tuple[str, ...]
    unexpected: tuple[str, ...]  # no such event, or the wrong channel
    repeats_after_kills: int
    repeats_after_lost_answers: int
    repeats_of_digests: int  # after kills: one kill during a digest repeats all of its messages
    unmarked: tuple[str, ...]  # repeats without the "possible repeat" mark
    unexplained: tuple[str, ...]  # repeats that no kill during a send, lost answer or late digest caused
    out_of_order: tuple[str, ...]

    @property
    def broken(self) -> tuple[str, ...]:
        """One line for each bound that does not hold."""
        bounds = {
            "lost": self.lost,
            "unexpected, or on the wrong channel": self.unexpected,
            "repeats without a mark": self.unmarked,
            "repeats without a reason": self.unexplained,
            "out of order": self.out_of_order,
        }
        return tuple(f"{bound}: {', '.join(ids)}" for bound, ids in bounds.items() if ids)


def check_delivery(
    events: Sequence[Event],
    arrivals: Sequence[Arrival],
    interrupted: Mapping[str, int],
    late: Mapping[str, int],
    overtaken: Collection[str] = (),
) -> DeliveryReport:
    """Compare the messages that arrived with those that the events require.

    Args:
        events: every event, those of one job in the order in which they happened.
        arrivals: every message that appeared, in order.
        interrupted: how many kills or freezes came while each message was in flight, by message id.
        late: how often a monitor was later for each message than others wait: its attempt took so long that a
            digest counts as interrupted, or its offer had expired.
        overtaken: messages that were in flight when a monitor of another host took their job over: their
            repeat, which is marked, may arrive first.
    """
    expected = {event.id: event for event in events}
    copies: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        copies[arrival.id].append(arrival)
    unanswered = {id_: sum(not copy.answered for copy in of_id[:-1]) for id_, of_id in copies.items()}
    repeats = {id_: len(of_id) - 1 for id_, of_id in copies.items()}
    after_kills = {id_: max(0, count - unanswered[id_]) for id_, count in repeats.items()}
    raced = {
        id_ for id_, of_id in copies.items() if {id_, *(copy.digest_of for copy in of_id)} & {*overtaken}
    }
    in_digests = {arrival.id for arrival in arrivals if arrival.digest_of}
    return DeliveryReport(
        events=len(events),
        arrivals=len(arrivals),
        digests=len({arrival.digest_of for arrival in arrivals if arrival.digest_of}),
        lost=tuple(id_ for id_ in expected if id_ not in copies),
        unexpected=tuple(arrival.id for arrival in arrivals if not _is_expected(arrival, expected)),
        repeats_after_kills=sum(after_kills[id_] for id_ in after_kills if id_ not in in_digests),
        repeats_after_lost_answers=sum(repeats.values()) - sum(after_kills.values()),
        repeats_of_digests=sum(after_kills[id_] for id_ in after_kills if id_ in in_digests),
        unmarked=tuple(
            id_ for id_, of_id in copies.items() if _has_unmarked(of_id, in_any_order=id_ in raced)
        ),
        unexplained=tuple(
            id_
            for id_, count in after_kills.items()
            if count > _interruptions(id_, copies[id_], interrupted, late)
        ),
        out_of_order=tuple(id_ for id_ in _out_of_order(events, arrivals) if id_ not in raced),
    )


def _has_unmarked(copies: Sequence[Arrival], *, in_any_order: bool) -> bool:
    """Whether a repeat is not marked; all copies but one must be, if any may have arrived first."""
    unmarked = [number for number, copy in enumerate(copies) if not copy.marked]
    return len(unmarked) > 1 if in_any_order else any(unmarked)


def _interruptions(
    id_: str, copies: Sequence[Arrival], interrupted: Mapping[str, int], late: Mapping[str, int]
) -> int:
    """Return how many attempts to send a message were interrupted, or late with a digest."""
    digests = {copy.digest_of for copy in copies if copy.digest_of}
    kills = sum(interrupted.get(sender, 0) for sender in {id_, *digests})
    return kills + sum(late.get(sender, 0) for sender in ({id_, *digests} if digests else ()))


def _is_expected(arrival: Arrival, expected: Mapping[str, Event]) -> bool:
    event = expected.get(arrival.id)
    return event is not None and event.route is arrival.route


def _out_of_order(events: Sequence[Event], arrivals: Sequence[Arrival]) -> Iterator[str]:
    """Yield each message that arrived after a later one of the same job and channel."""
    position = {event.id: number for number, event in enumerate(events)}
    queue = {event.id: (event.job_id, event.route) for event in events}
    latest: Counter[tuple[int, str]] = Counter()
    for arrival in arrivals:
        if arrival.id in position:
            if position[arrival.id] < latest[queue[arrival.id]]:
                yield arrival.id
            latest[queue[arrival.id]] = max(latest[queue[arrival.id]], position[arrival.id])


def check_history(found: Iterable[HistoryRecord], scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Yield a line for each task whose run is not in the history exactly once, as it ended."""
    runs: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    for each in found:
        runs[each.backend or "slurm", each.job_id, each.task].append(each.state)
    for scenario in scenarios:
        for task, (raw_state, _) in enumerate(scenario.ends):
            states = runs.pop((scenario.backend, scenario.job_id, str(task)), [])
            if states != [raw_state.split()[0]]:
                yield f"the run of {scenario.job_id}_{task} is in the history as {states}, not {raw_state}"
    yield from (f"unexpected runs in the history: {key}" for key in runs)
