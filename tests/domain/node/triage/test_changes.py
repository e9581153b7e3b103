from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import WorkerStatus
from jobmon_core.domain.node.triage.changes import triage_events
from jobmon_core.domain.node.triage.state import TriageState
from tests.support.situations import sample, situation, trouble, worker

QUIET = trouble("endless-loop", "it loops", is_quiet=True)
LOUD = trouble("endless-loop", "it loops")


def quiet(*looks: Event | None) -> list[bool]:
    """Return of each event of a verdict whether it is only shown; looks follow each other after an hour."""
    state, found = TriageState(), list[bool]()
    for number, verdict in enumerate(looks, start=1):
        now = situation(None, 60.0 * number)
        state, events = triage_events(state, now, () if verdict is None else (verdict,))
        found += [event.is_quiet for event in events if not event.ended]
    return found


def test_a_verdict_that_comes_back_is_only_shown() -> None:
    assert quiet(LOUD, LOUD, None, LOUD) == [False, True]


def test_a_verdict_that_was_only_shown_is_reported_once_it_is_worth_a_message() -> None:
    assert quiet(QUIET, LOUD) == [True, False]
    assert quiet(QUIET, None, LOUD) == [True, False]


def test_nothing_is_over_because_no_worker_is_left() -> None:
    verdict = trouble("zombie-workers", "zombies")
    zombies = situation(sample([worker(rank, 0, status=WorkerStatus.ZOMBIE) for rank in range(2)]))
    state, _ = triage_events(TriageState(), zombies, (verdict,))
    for later in (zombies, replace(zombies, nodes=()), situation(sample(), 60)):
        after = replace(later, now_s=zombies.now_s + 7200)
        assert triage_events(state, after, ())[1] == ()
    alive = situation(sample(), 180)
    assert [event.text for event in triage_events(state, alive, ())[1]] == [
        "zombie workers: no longer, for 2h now"
    ]
