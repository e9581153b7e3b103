"""In what a running task stands out among earlier runs like it; each is told once in a run.

Every look applies the rule again, so a figure counts only once it hardly changes any more, and an unusual
pace must last. Measured with the rule itself: wrong in at most 3 % of runs, however often they are looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import duration, listed
from jobmon_core.domain.job.history import baseline
from jobmon_core.domain.job.history.baseline import Usual, unlike
from jobmon_core.domain.job.history.record import median
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.logs.progress.model import History

LATE = "late_start"
_NO_USUAL = Usual()
_KINDS = {baseline.SLOWER: EventKind.SLOW, baseline.LONGER_WAIT: EventKind.LONG_WAIT}
_OVER = {  # what can be over, and how that is said
    baseline.SLOWER: "no longer slower than usual",
    baseline.LESS_GPU: "its GPUs are no longer idler than usual",
    LATE: "its log shows progress",
}
_MIN_PACE_S, _MIN_PACES = 600.0, 10  # before a pace is judged
_LASTS = 0.2  # of the run time, for which a run must be slow: with 0.1, 3.3 % of runs were wrong
_MIN_GPU_S, _MIN_GPU_SHARE = 1200.0, 0.25  # measured, the latter of the usual run time


class Comparison(NamedTuple):
    """What is known of a task's latest run beside earlier ones, from look to look."""

    started_s: float = 0.0  # of the run
    usual: Usual = _NO_USUAL
    measured_s: float = 0.0  # when its memory and GPUs were compared last (Unix seconds)
    slow_since_s: float | None = None  # since when each look found it slow
    told: tuple[str, ...] = ()  # ids of what was told in this run
    ongoing: tuple[str, ...] = ()  # those of them that still hold


class RunSoFar(NamedTuple):
    """What one look found of a running task."""

    now_s: float
    run: HistoryRecord  # with those of its figures that can be judged now
    late_s: float | None = None  # for how long it has run without progress; None if there is some
    known: tuple[str, ...] = ()  # ids of what it was told of by other rules


def has_pace(history: History) -> bool:
    """Whether the pace so far is, as a rule, that of the whole run."""
    samples = history.samples
    return len(samples) > _MIN_PACES and samples[-1].at_s - samples[0].at_s >= _MIN_PACE_S


def has_gpu_use(measured_s: float, usual: Usual) -> bool:
    """Whether GPUs were measured for so long that their use is, as a rule, that of the whole run."""
    return bool(usual.run_s) and measured_s >= max(_MIN_GPU_S, _MIN_GPU_SHARE * median(usual.run_s))


def compared(before: Comparison, seen: RunSoFar) -> tuple[Comparison, tuple[Event, ...]]:
    """Return the comparison after one more look, and what is new."""
    found = {each.id: each for each in (*unlike(seen.run, before.usual, "JOBID"), *_late(before, seen))}
    slow_since_s = None
    if baseline.SLOWER in found:
        slow_since_s = before.slow_since_s or seen.now_s
        if seen.now_s - slow_since_s < _LASTS * (seen.now_s - before.started_s):
            del found[baseline.SLOWER]
    after, new, over = _with_news(before._replace(slow_since_s=slow_since_s), seen, found)
    return after, (*(_event(each, seen) for each in new), *(_recovery(name, seen) for name in over))


def _with_news(
    before: Comparison, seen: RunSoFar, found: Mapping[str, Finding]
) -> tuple[Comparison, list[Finding], list[str]]:
    """Return the comparison with what is told now, what that is, and the ids of what is over."""
    told = (*before.told, *(name for name in seen.known if name not in before.told))
    new = [each for each in found.values() if each.id not in told]
    over = [name for name in before.ongoing if name not in found and _is_judged(name, seen)]
    begun = [each.id for each in new if each.id in _OVER]
    after = before._replace(
        told=(*told, *(each.id for each in new)),
        ongoing=tuple(name for name in (*before.ongoing, *begun) if name not in over),
    )
    return after, new, over


def _event(found: Finding, seen: RunSoFar) -> Event:
    text = found.text.removeprefix("this run ").removeprefix("is ")
    kind, title = _KINDS.get(found.id, EventKind.UNUSUAL), found.id.replace("_", " ").capitalize()
    event = Event(seen.now_s, kind, text, subject=found.id, advice=found.advice)
    event = replace(event, title=title.replace("gpu", "GPU"))
    if found.id == LATE and seen.late_s:
        return replace(event, lasting_s=(seen.late_s,))
    return event


def _recovery(name: str, seen: RunSoFar) -> Event:
    kind = _KINDS.get(name, EventKind.UNUSUAL)
    return Event(seen.now_s, EventKind.RECOVERED, _OVER[name], ended=kind, subject=name)


def _is_judged(name: str, seen: RunSoFar) -> bool:
    figures = {baseline.SLOWER: seen.run.step_s, baseline.LESS_GPU: seen.run.gpu_percent}
    return name == LATE or figures.get(name) is not None


def _late(before: Comparison, seen: RunSoFar) -> Iterator[Finding]:
    """Yield a finding if the run shows no progress for longer than runs like it need to begin."""
    usual, timeout_s = before.usual.first_progress_s, before.usual.launch_timeout_s
    if seen.late_s is None or timeout_s is None or seen.late_s < timeout_s:
        return
    texts = [duration(each) for each in usual]
    text = (
        f"started {duration(seen.late_s)} ago, but its log shows no progress; the last {len(usual)} runs of "
        f"its name showed some after {listed(texts, len(texts))}"
    )
    advice = (
        "It may still load its data, or wait for a file or another process. jobmon warns after three times "
        "the usual start, never before 5 minutes; `launch_timeout` sets another time."
    )
    yield Finding(Severity.WARNING, text, advice, id=LATE)
