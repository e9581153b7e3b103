from __future__ import annotations

from jobmon_core.domain.triage.changes import triage_events
from jobmon_core.domain.triage.situation import Verdict
from jobmon_core.domain.triage.state import TriageState
from tests.support.situations import situation

QUIET = Verdict("endless-loop", "It loops", "it loops", 50.0, is_quiet=True)
LOUD = Verdict("endless-loop", "It loops", "it loops", 50.0)


def quiet(*looks: Verdict | None) -> list[bool]:
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
