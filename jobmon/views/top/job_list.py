"""The list of tasks, one row each, in columns that fit the window."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.console import Style
from jobmon.views.model import pending_reason, run_time_s, state, task_cause
from jobmon.views.progress import remaining
from jobmon.views.telemetry import gpus_short, is_memory_scarce
from jobmon.views.text_width import truncated
from jobmon.views.top.drawing import Column, Span, attention, bar, fitted
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.overview import ending_of, state_text
from jobmon_core.domain.humanize import duration, rate, text_of
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import loss, percentage, units
from jobmon_core.domain.node.telemetry.summary import fullest_memory, is_current
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon.views.model import Json
    from jobmon.views.top.drawing import Line, Symbols
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.node.telemetry.model import AgentReport


_UNUSUAL = ("U", Style.ATTENTION, "unusual: unlike earlier runs or a tracker")
# the letter, colour and meaning of each problem; letters also work where there are no colours
LETTERS = {
    EventKind.STALLED: ("S", Style.BAD, "stalled: no progress for unusually long"),
    EventKind.LAUNCH_FAILED: ("F", Style.BAD, "launch failed: e.g. a worker is missing"),
    EventKind.NO_OUTPUT: ("N", Style.BAD, "no output: a log is missing or empty"),
    EventKind.ERROR: ("E", Style.BAD, "error: its log shows a failure"),
    EventKind.TROUBLE: ("T", Style.ATTENTION, "trouble: its agents found a problem"),
    EventKind.DIVERGED: ("D", Style.BAD, "diverged: loss or gradient norm not finite or far too high"),
    EventKind.TIME_LIMIT: ("L", Style.ATTENTION, "will not end before its time limit"),
    EventKind.SLOW: ("W", Style.ATTENTION, "slow: clearly slower than before, or than usual"),
    EventKind.UNUSUAL: _UNUSUAL,
    EventKind.TRACKER: _UNUSUAL,
}
NO_MONITOR = "!"
OLD_DATA = "?"
_STYLES = {
    StateGroup.COMPLETED: Style.GOOD,
    StateGroup.FAILED: Style.BAD,
    StateGroup.UNKNOWN: Style.ATTENTION,
}


def letters(live: LiveTask) -> Span:
    """Return a letter for each thing that is wrong, in the style of the worst."""
    found = [LETTERS[kind] for kind in live.problems if kind in LETTERS]
    marks = "".join(dict.fromkeys(letter for letter, _, _ in found))
    if live.status.health.is_lost:
        return Span(f"{NO_MONITOR}{marks}", Style.BAD)
    if live.is_stale:
        marks = f"{OLD_DATA}{marks}"
    return Span(marks, found[0][1] if found else Style.ATTENTION)


def note(live: LiveTask) -> Span | None:
    """Return what the row of a task that does not run shows in place of progress."""
    if live.group is StateGroup.RUNNING:
        return None
    job, task = live.job, live.task
    if live.group is StateGroup.PENDING:
        reason = pending_reason(job)
        state_word = "PENDING" if job.tasks or job.pending_indices else "submitted, not yet listed"
        if (hint := pending_hint(reason)) and not hint.starts_by_itself:  # as in `jobmon status`
            # e.g. only "held" of "is held: its launch failed"; the reason beside it says the rest
            problem = hint.problem.removeprefix("is ").partition(":")[0]
            return Span(f"{state_word}, {problem} ({reason})", Style.ATTENTION)
        return Span(f"{state_word} ({reason})" if reason else state_word, Style.DIM)
    if live.group is StateGroup.ENDING and task and (ending := ending_of(task)):
        return Span(ending.text, Style.ATTENTION)
    return Span(_ended(live), _STYLES.get(live.group, Style.DIM))


def _ended(live: LiveTask) -> str:
    if live.group is StateGroup.UNWATCHED or live.task is None:
        return str(live.group)
    if live.task.end is None:
        return state(live.job)
    why = "" if live.group is StateGroup.CANCELLED else task_cause(live.task)
    text = state_text(live.task.end)
    if live.task.is_doubtful_success:
        text += ", but doubtful"
    if why:
        text += f": {why}"
    return f"{text}; restart due" if live.job.is_restarting else text


def elapsed(live: LiveTask, now_s: float, *, with_limit: bool = True) -> str:
    """Return the run time and the limit, e.g. ``2h 34m/8h``."""
    seconds = run_time_s(live.task, now_s)
    if live.task is None or seconds is None:
        return ""
    if with_limit and live.task.limit_s:
        return f"{duration(seconds)}/{duration(live.task.limit_s)}"
    return duration(seconds)


def rate_per_s(live: LiveTask) -> float | None:
    """Return the recent throughput: measured, else as the log prints it."""
    progress, recent = live.progress.progress, live.estimate.rate_per_s
    return progress.rate_per_s if progress and recent is None else recent


_GAP = "  "
_PERCENT = len(" 67.3%")
_MIN_PROGRESS, _MAX_PROGRESS = 5 + _PERCENT, 40 + _PERCENT


class _Fit(NamedTuple):
    """How much the columns show."""

    name: int = 40  # columns at most
    is_short: bool = False  # without the range of the ETA and the limit of the run time
    has_loss: bool = True
    has_rate: bool = True
    has_unit: bool = True  # of the rate
    has_gpus: bool = True
    has_memory: bool = True
    has_elapsed: bool = True
    has_eta: bool = True
    has_short_ids: bool = False  # of the pending tasks of an array


_STEPS: tuple[Json, ...] = (  # each makes the columns narrower
    {"has_unit": False},
    *({"name": 24}, {"name": 16}, {"name": 10}),
    {"is_short": True},
    *({"has_memory": False}, {"has_loss": False}, {"has_rate": False}),
    {"has_elapsed": False, "has_short_ids": True},
    {"has_gpus": False},
    *({"name": 6}, {"name": 0}),
    {"has_eta": False},
)
_FITS = (*accumulate(_STEPS, lambda fit, step: fit._replace(**step), initial=_Fit()),)


def list_lines(
    tasks: Sequence[LiveTask], now_s: float, width: int, symbols: Symbols
) -> tuple[Line, list[Line]]:
    """Return the header, and a line of at most ``width`` columns for each task."""
    before, after = _side_columns(tasks, now_s, width, symbols)
    room = min(max(width - _width(before, after), _MIN_PROGRESS), _MAX_PROGRESS)
    progress = Column("PROGRESS", [_progress(live, room, symbols) for live in tasks], least=room)
    columns = [*before, progress, *after]
    header = [each.padded(Span(each.header, Style.BOLD)) for each in columns]
    rows = []
    for number, live in enumerate(tasks):
        remark = note(live)
        cells = [column.padded(column.cells[number]) for column in (before if remark else columns)]
        rows.append(_joined([*cells, remark] if remark else cells, width, symbols, is_dim=live.is_stale))
    return _joined(header, width, symbols), rows


def _side_columns(
    tasks: Sequence[LiveTask], now_s: float, width: int, symbols: Symbols
) -> tuple[list[Column], list[Column]]:
    before: list[Column] = []
    after: list[Column] = []
    for fit in _FITS:
        before, after = [*_before(tasks, fit)], [*_after(tasks, fit, now_s, symbols)]
        if width - _width(before, after) >= _MIN_PROGRESS:
            break
    return before, after


def _width(before: Sequence[Column], after: Sequence[Column]) -> int:
    # the gap after the letters is only one column wide
    return sum(column.width + len(_GAP) for column in (*before, *after)) - 1


def _before(tasks: Sequence[LiveTask], fit: _Fit) -> Iterator[Column]:
    yield Column("", [letters(live) for live in tasks], least=1)
    yield Column("JOB", [Span(_short_id(live.ref) if fit.has_short_ids else live.ref) for live in tasks])
    if fit.name:
        names = [truncated(one_line(live.job.label), fit.name) for live in tasks]
        yield Column("NAME", [Span(name) for name in names])


def _short_id(ref: str) -> str:
    """Return ``12_[…]`` for ``12_[3-9]``: one long id would take the room of all names."""
    before, bracket, _ = ref.partition("[")
    return f"{before}[…]" if bracket else ref


def _after(tasks: Sequence[LiveTask], fit: _Fit, now_s: float, symbols: Symbols) -> Iterator[Column]:
    def spans(text_of: Callable[[LiveTask], str]) -> list[Span]:
        return [Span("" if note(live) else text_of(live)) for live in tasks]

    if fit.has_eta:
        left = spans(lambda live: remaining(live, symbols, with_range=not fit.is_short))
        yield Column("ETA", left, least=7)
    if fit.has_rate:
        rates = spans(lambda live: _rate(live, with_unit=fit.has_unit))
        yield Column("RATE", rates, least=7, is_right_aligned=True)
    if fit.has_loss:
        losses = spans(lambda live: loss(live.progress.progress.loss) if live.progress.progress else "")
        yield Column("LOSS", losses, least=6, is_right_aligned=True)
    yield from (column for column in _measured(tasks, fit, now_s) if any(span.text for span in column.cells))
    if fit.has_elapsed:
        header = "ELAPSED" if fit.is_short else "ELAPSED/LIMIT"
        yield Column(header, spans(lambda live: elapsed(live, now_s, with_limit=not fit.is_short)))


def _measured(tasks: Sequence[LiveTask], fit: _Fit, now_s: float) -> Iterator[Column]:
    """Yield the columns with what agents measure now."""
    reports = [[each for each in live.reports if is_current(each, now_s)] for live in tasks]
    if fit.has_gpus:
        yield Column("GPU", [Span(gpus_short(each)) for each in reports], is_right_aligned=True)
    if fit.has_memory:
        yield Column("MEM", [_memory(each) for each in reports], is_right_aligned=True)


def _memory(reports: Sequence[AgentReport]) -> Span:
    found = fullest_memory(reports)
    share = found[1].share if found else None
    return Span(text_of(share, "{:.0%}".format), attention(when=is_memory_scarce(reports)))


def _rate(live: LiveTask, *, with_unit: bool) -> str:
    progress = live.progress.progress
    return rate(rate_per_s(live), progress.unit if progress and with_unit else "")


def _progress(live: LiveTask, width: int, symbols: Symbols) -> Span:
    progress = live.progress.progress
    if progress is None:
        return Span(truncated("no progress yet", width), Style.DIM)
    if progress.fraction is None:
        return Span(truncated(units(progress), width))
    share = percentage(progress.fraction)
    return Span(f"{bar(progress.fraction, width - _PERCENT, symbols)} {share:>{_PERCENT - 1}}")


def _joined(cells: Sequence[Span], width: int, symbols: Symbols, *, is_dim: bool = False) -> Line:
    """Return the cells as a line; ``is_dim``: all but the letters are dim."""
    line = [cells[0]]
    for number, cell in enumerate(cells[1:]):
        line += [Span(_GAP if number else " "), cell._replace(style=Style.DIM) if is_dim else cell]
    return fitted(line, width, symbols)
