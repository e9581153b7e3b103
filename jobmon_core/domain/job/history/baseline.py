"""Whether a run stands out among earlier runs like it.

The rule was measured on 10,000 simulated series a case: it is wrong in at most 2.5 % of runs, where "slower
than the last five" is wrong in 16.6 % whatever the noise. Where the last five differ by more than 30 %,
nothing can be said.

Every look at a running task applies the rule again, so a figure counts only once it hardly changes any more,
and an unusual pace must last: so it is wrong in at most 3 % of runs, however often they are looked at. Each
finding is told once in a run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import duration, listed, size
from jobmon_core.domain.job.history.record import median
from jobmon_core.domain.logs.progress.events.event import Event, EventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.logs.progress.model import History

COMPARED = 5  # the latest earlier runs that count
_MAX_SPREAD = 0.3  # (highest - lowest) / median of these
# with 1.1 times the highest, 3.6 % of runs were wrong with a noise of 15 %
_OVER_MEDIAN, _OVER_HIGHEST = 1.2, 1.15
_MIN_STARTS = 3  # runs, to expect a start or an end
_USUAL_STARTS, _MIN_TIMEOUT_S = 3.0, 300.0
_MAX_RANGE = 2.0  # from the shortest to the longest run: more says nothing


class Usual(NamedTuple):
    """The figures of the last successful runs like one, at most `COMPARED` of each, the latest first."""

    unit: str = ""
    step_s: tuple[float, ...] = ()  # seconds per unit
    memory_peak: tuple[float, ...] = ()
    idle_percent: tuple[float, ...] = ()  # of the time of GPUs
    wait_s: tuple[float, ...] = ()
    first_progress_s: tuple[float, ...] = ()
    run_s: tuple[float, ...] = ()  # of first attempts: others continue one

    @property
    def launch_timeout_s(self) -> float | None:
        """When a run without progress is late: after three times the usual, and never before five minutes.

        None with fewer than three runs.
        """
        known = self.first_progress_s
        if len(known) < _MIN_STARTS:
            return None
        return max(_MIN_TIMEOUT_S, _USUAL_STARTS * median(known), *known)

    @property
    def expected_run_s(self) -> tuple[float, ...]:
        """The run time, or the shortest and the longest; empty if the runs are too few or too different."""
        known = self.run_s
        if len(known) < _MIN_STARTS or not min(known) or max(known) > _MAX_RANGE * min(known):
            return ()
        return (median(known),) if agree(known) else (min(known), max(known))


class Figure(NamedTuple):
    """One figure of a run, of which more is worse."""

    id: str
    of: str  # its name in `HistoryRecord` and in `Usual`
    least: float  # a smaller difference from the usual is not worth a word
    text: Callable[[float], str]
    what: str  # completes "this run"
    advice: str


SLOWER, MORE_MEMORY = "slower_than_usual", "more_memory_than_usual"
LESS_GPU, LONGER_WAIT = "less_gpu_than_usual", "longer_wait_than_usual"
WAIT = Figure(LONGER_WAIT, "wait_s", 600.0, duration, "waited for longer than usual: {}", "")
FIGURES = (
    Figure(
        SLOWER,
        "step_s",
        0.0,
        lambda value: f"{value:.3g} s",
        "is slower than usual: {} per {unit}",
        "Compare what changed (`jobmon diff {job}`), and the nodes (`jobmon history {job}`).",
    ),
    Figure(
        MORE_MEMORY,
        "memory_peak",
        2.0**29,
        size,
        "takes more memory than usual: {}",
        "Request more memory before it is killed, or look what changed (`jobmon diff {job}`).",
    ),
    Figure(
        LESS_GPU,
        "idle_percent",
        10.0,
        lambda value: f"{value:.0f}%",
        "leaves its GPUs idle for longer than usual: {} of the time",
        "See what it waits for: `jobmon show {job}`.",
    ),
    WAIT,
)


def usual_of(alike: Iterable[HistoryRecord], unit: str | None = None) -> Usual:
    """Return the figures of these runs, the latest first: those that succeeded without doubt.

    The pace is that of runs that count ``unit``; None: what the latest of them counts.
    """
    runs = [each for each in alike if each.outcome == "success" and not each.doubtful]
    if unit is None:
        unit = next((each.unit for each in runs if each.step_s is not None), "")
    of = {
        "step_s": [each for each in runs if each.unit == unit],
        "run_s": [each for each in runs if not each.attempt],
    }
    known: dict[str, Any] = {
        name: [value for run in of.get(name, runs) if (value := getattr(run, name)) is not None]
        for name in Usual._fields[1:]
    }
    return Usual(unit, **{name: tuple(values[:COMPARED]) for name, values in known.items()})


def usual_range(earlier: Sequence[float]) -> tuple[float, float] | None:
    """Return from where to where a value is usual, given those of earlier runs, the latest first.

    None if too few are known, or they differ too much.
    """
    last = earlier[:COMPARED]
    if len(last) < COMPARED or not agree(last):
        return None
    return min(last), max(_OVER_MEDIAN * median(last), _OVER_HIGHEST * max(last))


def agree(values: Sequence[float]) -> bool:
    """Whether values, of which none is negative, differ so little that they are a measure."""
    usual = median(values)
    return usual > 0 and (max(values) - min(values)) / usual < _MAX_SPREAD


def is_unusual(value: float, earlier: Sequence[float]) -> bool:
    """Whether a value is unusually high, given those of earlier runs, the latest first."""
    usual = usual_range(earlier)
    return usual is not None and value > usual[1]


def highest_usual(figure: Figure, usual: Usual) -> float | None:
    """Return up to which value a figure is usual; None if that is not known."""
    earlier = getattr(usual, figure.of)
    known = usual_range(earlier)
    return None if known is None else max(known[1], median(earlier) + figure.least)


def unusual(run: HistoryRecord, alike: Iterable[HistoryRecord], job: str) -> Iterator[Finding]:
    """Yield in what a run stands out among earlier successful runs like it, the latest first.

    ``job`` is what commands call it. Only runs that count the same unit are compared.
    """
    # agents measure all of a node, accounting the largest step
    comparable = (
        each if (each.node_peak is None) == (run.node_peak is None) else each._replace(memory_peak=None)
        for each in alike
    )
    return unlike(run, usual_of(comparable, run.unit), job)


def unlike(run: HistoryRecord, usual: Usual, job: str) -> Iterator[Finding]:
    """Yield in what a run stands out; ``usual`` has the pace of runs that count the same unit."""
    for figure in FIGURES:
        value = getattr(run, figure.of)
        highest = None if value is None else highest_usual(figure, usual)
        if highest is not None and value > highest:
            texts = [figure.text(each) for each in getattr(usual, figure.of)]
            what = figure.what.format(figure.text(value), unit=run.unit or "unit")
            text = f"this run {what}; the last {COMPARED} took {listed(texts, COMPARED)}"
            yield Finding(Severity.WARNING, text, figure.advice.format(job=job), tuple(texts), id=figure.id)


LATE = "late_start"
_NO_USUAL = Usual()
_KINDS = {SLOWER: EventKind.SLOW, LONGER_WAIT: EventKind.LONG_WAIT}
_OVER = {  # what can be over, and how that is said
    SLOWER: "no longer slower than usual",
    LESS_GPU: "its GPUs are no longer idler than usual",
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


def has_pace(history: History) -> bool:
    """Whether the pace so far is, as a rule, that of the whole run."""
    samples = history.samples
    return len(samples) > _MIN_PACES and samples[-1].at_s - samples[0].at_s >= _MIN_PACE_S


def has_gpu_use(measured_s: float, usual: Usual) -> bool:
    """Whether GPUs were measured for so long that their use is, as a rule, that of the whole run."""
    return bool(usual.run_s) and measured_s >= max(_MIN_GPU_S, _MIN_GPU_SHARE * median(usual.run_s))


def compared(
    before: Comparison, run: HistoryRecord, late_s: float | None = None, known: tuple[str, ...] = ()
) -> tuple[Comparison, tuple[Event, ...]]:
    """Return the comparison after one more look, and what is new.

    Of the running ``run``, only figures that can be judged now are known. ``late_s``: for how long it has run
    without progress; None if there is some. ``known``: ids of what it was told of by other rules.
    """
    now_s = run.noted_s
    found, slow_since_s = _found(before, run, late_s)
    told = tuple(dict.fromkeys((*before.told, *known)))
    new = [each for each in found.values() if each.id not in told]
    over = [name for name in before.ongoing if name not in found and _is_judged(name, run)]
    begun = [each.id for each in new if each.id in _OVER]
    after = before._replace(
        slow_since_s=slow_since_s,
        told=(*told, *(each.id for each in new)),
        ongoing=tuple(name for name in (*before.ongoing, *begun) if name not in over),
    )
    recoveries = [_recovery(name, now_s) for name in over]
    return after, (*(_event(each, now_s, late_s) for each in new), *recoveries)


def _found(
    before: Comparison, run: HistoryRecord, late_s: float | None
) -> tuple[dict[str, Finding], float | None]:
    """Return in what a run stands out, by id, and since when each look found it slow."""
    now_s = run.noted_s
    found = {each.id: each for each in (*unlike(run, before.usual, "JOBID"), *_late(before.usual, late_s))}
    if SLOWER not in found:
        return found, None
    slow_since_s = before.slow_since_s or now_s
    if now_s - slow_since_s < _LASTS * (now_s - before.started_s):
        del found[SLOWER]
    return found, slow_since_s


def _recovery(name: str, now_s: float) -> Event:
    return Event(now_s, EventKind.RECOVERED, _OVER[name], ended=_kind(name), subject=name)


def _event(found: Finding, now_s: float, late_s: float | None) -> Event:
    text = found.text.removeprefix("this run ").removeprefix("is ")
    title = found.id.replace("_", " ").capitalize().replace("gpu", "GPU")
    event = Event(now_s, _kind(found.id), text, subject=found.id, advice=found.advice, title=title)
    if found.id == LATE and late_s:
        return replace(event, lasting_s=(late_s,))
    return event


def _kind(name: str) -> EventKind:
    return _KINDS.get(name, EventKind.UNUSUAL)


def _is_judged(name: str, run: HistoryRecord) -> bool:
    figures = {SLOWER: run.step_s, LESS_GPU: run.gpu_percent}
    return name == LATE or figures.get(name) is not None


def _late(usual: Usual, late_s: float | None) -> Iterator[Finding]:
    """Yield a finding if the run shows no progress for longer than runs like it need to begin."""
    timeout_s = usual.launch_timeout_s
    if late_s is None or timeout_s is None or late_s < timeout_s:
        return
    texts = [duration(each) for each in usual.first_progress_s]
    text = (
        f"started {duration(late_s)} ago, but its log shows no progress; the last {len(texts)} runs of "
        f"its name showed some after {listed(texts, len(texts))}"
    )
    advice = (
        "It may still load its data, or wait for a file or another process. jobmon warns after three times "
        "the usual start, never before 5 minutes; `launch_timeout` sets another time."
    )
    yield Finding(Severity.WARNING, text, advice, id=LATE)
