"""Report each verdict when it begins to hold, and withdraw it when it has been over for long enough.

One that was only shown is reported again if it becomes worth a message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.triage.situation import Situation
from jobmon_core.domain.node.triage.state import Held, TriageState

_OVER_AFTER = 2  # times `must_last_s` without the condition
_OF_WORKERS = ("dead-worker", "zombie-workers", "missing-workers")
_INTERVAL = 0.1  # of `must_last_s`, between two looks


def is_due(state: TriageState, now_s: float, must_last_s: float) -> bool:
    """Return whether the next look is due at ``now_s``; the state tells when the last one was."""
    return not 0 <= now_s - state.judged_s < _INTERVAL * must_last_s


def of_run(state: TriageState, started_s: float) -> TriageState:
    """Return the state; an empty one, if it is about an earlier run."""
    return state if state.started_s == started_s else TriageState(started_s=started_s)


def triage_events(
    state: TriageState, situation: Situation, verdicts: Iterable[Event]
) -> tuple[TriageState, tuple[Event, ...]]:
    """Return the state after a look that found these verdicts, and the events for what has changed."""
    now_s, held, events = situation.now_s, dict(state.held), list[Event]()
    reported = list(state.reported)
    for verdict in verdicts:
        before = held.get(verdict.name)
        is_worse = before is not None and before.is_quiet and not verdict.is_quiet
        if before is None or is_worse:
            again = verdict.name in reported and not is_worse
            # what comes back and is not critical is only shown
            is_shown = verdict.is_quiet or (again and not verdict.is_critical)
            events.append(replace(verdict, is_quiet=is_shown))
            if not verdict.is_quiet:
                reported.append(verdict.name)
        is_quiet = verdict.is_quiet and (before is None or before.is_quiet)
        held[verdict.name] = Held(verdict.since_s, now_s, verdict.is_permanent, is_quiet)
    for name, each in state.held.items():
        over_s = now_s - held[name].seen_s
        is_over = over_s >= _OVER_AFTER * situation.thresholds.must_last_s
        # after the end of all workers, nothing shows that it goes well
        is_seen = situation.is_alive or not (situation.workers or name in _OF_WORKERS)
        if is_over and is_seen and not each.is_permanent:
            text = f"{name.replace('-', ' ')}: no longer, for {duration(over_s)} now"
            events.append(Event(now_s, EventKind.RECOVERED, text, ended=EventKind.TROUBLE, subject=name))
            del held[name]
    reported = list(dict.fromkeys(reported))
    return replace(state, judged_s=now_s, held=held, reported=tuple(reported)), tuple(events)
