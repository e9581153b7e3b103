"""All that is wrong with a running task: what its agents measure, and what its logs show."""

from __future__ import annotations

from collections.abc import Iterable

from jobmon_core.domain.messages.progress_alerts import headline, usual_advice
from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.triage.situation import Verdict

# they say why there is no progress
_STANDSTILLS = ("deadlock", "gpu-hang", "collective-stuck", "stacks-at-stall", "block-buffered-output")


def all_problems(verdicts: Iterable[Verdict], events: Iterable[Event], backend: str) -> tuple[Verdict, ...]:
    """Return the verdicts of the rules and those that follow from the logs, the worst first.

    ``events`` are those that have not ended. One about what agents measure is left out, since the verdicts
    are newer; so is a stall that a verdict explains.
    """
    judged = tuple(verdicts)
    explained = {EventKind.TROUBLE}
    if any(verdict.name in _STANDSTILLS and not verdict.is_quiet for verdict in judged):
        explained.add(EventKind.STALLED)
    found = [_verdict(event, backend) for event in events if event.kind not in explained]
    return tuple(sorted((*found, *judged), key=lambda verdict: (not verdict.is_critical, verdict.is_quiet)))


def _verdict(event: Event, backend: str) -> Verdict:
    return Verdict(
        event.kind.replace(" ", "-"),
        headline(event),
        event.text,
        event.at_s,
        event.evidence,
        event.advice or usual_advice(event.kind, backend),
        is_critical=event.is_critical,
        is_quiet=event.is_quiet,
    )
