"""One dot for each run over time, as inline SVG; of many runs, one for each stretch of time."""

from __future__ import annotations

from math import isfinite
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.model import stamp
from jobmon.views.report.chart import HEIGHT, STRETCHED, TOP, area, framed, opened, value_axis, y_of
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.report.axis import duration_axis, linear_axis
from jobmon_core.domain.job.report.series import Point, Series, Window
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon_core.domain.job.report.axis import Axis

MAX_DOTS = 400  # of more runs, the middle of each stretch of time is shown
_STRETCHES = 100
_FEW = 10  # runs, of which no tenth can be left out
_MARGIN = 0.03  # of the width, at both ends
_DAY_S = 86_400.0
_FORMS = ((2 * _DAY_S, "%a %H:%M"), (300 * _DAY_S, "%d %b"))  # of dates, on axes up to these times
_TICKS = 4
# by tone: what it means, and its form
_FORMS_OF_DOTS = {
    "good": ("succeeded", "M-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0"),
    "bad": ("failed", "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"),
    "soft": ("cancelled", "M-3 -3H3V3H-3Z"),
    "odd": ("unknown", "M0 -4L4 0L0 4L-4 0Z"),
    "warn": ("slower than usual", "M0 -5L5 4H-5Z"),
    "this": ("this run", "M0 -7L7 0L0 7L-7 0Z"),
    "many": ("", "M-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0"),
}


class Dot(NamedTuple):
    """One run, or what is in the middle of several."""

    at_s: float
    value: float
    tone: str  # one of `_FORMS_OF_DOTS`
    text: str = ""
    usual: tuple[float, float] | None = None  # from where to where a value is usual for it


class Dots(NamedTuple):
    """What a chart shows."""

    key: str  # unique on the page
    finding: str
    subject: str  # what the axis counts, with the unit
    dots: Sequence[Dot]
    are_durations: bool = False  # seconds, else any numbers


def dots_html(chart: Dots) -> str:
    """Return a figure; empty if there are not two runs."""
    shown = sorted(dot for dot in chart.dots if isfinite(dot.value))
    if len(shown) < 2:  # noqa: PLR2004 - one shows no course
        return ""
    times_s = [dot.at_s for dot in shown]
    margin_s = max(1.0, _MARGIN / (1 - 2 * _MARGIN) * (max(times_s) - min(times_s)))
    window = Window(min(times_s) - margin_s, max(times_s) + margin_s)
    subject, spreads = chart.subject, Series()
    if len(shown) > MAX_DOTS:
        each = duration(window.span_s / _STRETCHES)
        subject += f"; each dot is the median of the runs in {each}, each line the middle 80% of them"
        shown, spreads = _middles(shown, window)
    axis = _axis(chart, shown, spreads)
    text = duration if chart.are_durations else "{:.4g}".format
    parts = (
        *_legend(shown),
        opened(chart.key, chart.finding, f"{subject}: {len(chart.dots)} runs"),
        *value_axis(axis, text),
        *_date_axis(window),
        STRETCHED,
        *(f'<path class="band" d="{area(each, axis, window)}"/>' for each in _usual(shown)),
        "</svg>",
        *(_spread(point, axis, window) for point in spreads.points),
        *(_dot(dot, axis, window, text(dot.value)) for dot in shown),
        "</svg>",
    )
    return framed(chart.key, chart.finding, subject, parts)


def _middles(dots: Sequence[Dot], window: Window) -> tuple[list[Dot], Series]:
    by_stretch: dict[int, list[Dot]] = {}
    for dot in dots:
        by_stretch.setdefault(int(window.share(dot.at_s) * _STRETCHES), []).append(dot)
    middles, spreads = [], []
    for held in by_stretch.values():
        values = [dot.value for dot in held]
        at_s, middle = median(dot.at_s for dot in held), median(values)
        lowest, highest = min(values), max(values)
        if len(values) > _FEW:
            lowest, *_, highest = quantiles(values, n=10)
        middles.append(Dot(at_s, middle, "many", f"{len(held)} runs"))
        spreads.append(Point(at_s, middle, lowest, highest))
    return middles, Series((tuple(spreads),))


def _axis(chart: Dots, shown: Sequence[Dot], spreads: Series) -> Axis:
    values = [dot.value for dot in shown] + [each for dot in shown for each in dot.usual or ()]
    values += [each for point in spreads.points for each in (point.low, point.high)]
    if chart.are_durations:
        return duration_axis(min(values), max(values))
    return linear_axis(min(values), max(values))


def _legend(shown: Sequence[Dot]) -> Lines:
    yield '<ul class="legend">'
    for tone, (label, form) in _FORMS_OF_DOTS.items():
        if label and any(dot.tone == tone for dot in shown):
            box = 'viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true"'
            yield f'<li><svg class="dot {tone}" {box}><path d="{form}"/></svg>{label}</li>'
    if any(dot.usual for dot in shown):
        sample = '<svg width="28" height="10" aria-hidden="true"><path class="band" d="M0 0H28V10H0Z"/></svg>'
        yield f"<li>{sample}usual, by the five successful runs before</li>"
    yield "</ul>"


def _date_axis(window: Window) -> Lines:
    form = next((form for span_s, form in _FORMS if window.span_s <= span_s), "%b %Y")
    bottom = TOP + HEIGHT
    for number_ in range(_TICKS):
        share = _MARGIN + (1 - 2 * _MARGIN) * number_ / (_TICKS - 1)
        anchor = {0: "start", _TICKS - 1: "end"}.get(number_, "middle")
        x, label = f"{100 * share:.2f}%", stamp(window.start_s + share * window.span_s, form)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 5}"/>'
        yield f'<text class="tick" x="{x}" y="{bottom + 19}" text-anchor="{anchor}">{label}</text>'
    yield f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>'


def _usual(shown: Sequence[Dot]) -> list[list[Point]]:
    stretches: list[list[Point]] = [[]]
    for dot in shown:
        if dot.usual:
            stretches[-1].append(Point(dot.at_s, dot.value, *dot.usual))
        elif stretches[-1]:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def _spread(point: Point, axis: Axis, window: Window) -> str:
    x = f"{100 * window.share(point.at_s):.2f}%"
    y1, y2 = y_of(axis, point.low), y_of(axis, point.high)
    return f'<line class="spread" x1="{x}" x2="{x}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _dot(dot: Dot, axis: Axis, window: Window, value: str) -> str:
    x, y = f"{100 * window.share(dot.at_s):.2f}%", f"{y_of(axis, dot.value):.1f}"
    title = f"<title>{in_html(dot.text)}, {stamp(dot.at_s, '%Y-%m-%d %H:%M')}: {value}</title>"
    form = _FORMS_OF_DOTS[dot.tone][1]
    return f'<svg class="dot {dot.tone}" x="{x}" y="{y}"><path d="{form}"/>{title}</svg>'
