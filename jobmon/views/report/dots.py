"""A dot for each run over time, as inline SVG; of many runs, for some of them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.model import stamp
from jobmon.views.report.chart import (
    HEIGHT,
    STRETCHED,
    TOP,
    area,
    framed,
    number_text,
    opened,
    value_axis,
    y_of,
)
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.report.axis import duration_axis, linear_axis
from jobmon_core.domain.job.report.series import Point, Window
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon.views.console import Lines
    from jobmon_core.domain.job.report.axis import Axis

MAX_DOTS = 400
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
}


class Dot(NamedTuple):
    """One run."""

    at_s: float
    value: float
    tone: str  # one of `_FORMS_OF_DOTS`
    text: str
    usual: tuple[float, float] | None = None  # from where to where a value is usual for it


def dots_html(
    key: str, finding: str, subject: str, dots: Iterable[Dot], *, are_durations: bool = False
) -> str:
    """Return a figure about durations in seconds or other numbers; empty if there are not two runs.

    ``subject`` is what the axis counts.
    """
    shown = sorted((dot for dot in dots if isfinite(dot.value)), key=lambda dot: dot.at_s)
    if len(shown) < 2:  # noqa: PLR2004 - one shows no course
        return ""
    every = -(-len(shown) // MAX_DOTS)
    if every > 1:
        subject += f"; one dot for {every} runs"
    shown = shown[::-1][::every][::-1]  # always the last
    first_s, last_s = shown[0].at_s, shown[-1].at_s
    margin_s = max(1.0, _MARGIN / (1 - 2 * _MARGIN) * (last_s - first_s))
    window = Window(first_s - margin_s, last_s + margin_s)
    values = [dot.value for dot in shown] + [each for dot in shown for each in dot.usual or ()]
    text: Callable[[float], str] = number_text
    axis = linear_axis(min(values), max(values))
    if are_durations:
        axis, text = duration_axis(min(values), max(values)), duration
    parts = (
        *_legend(shown),
        opened(key, finding, f"{subject}: {len(shown)} dots"),
        *value_axis(axis, text),
        *_date_axis(window),
        STRETCHED,
        *(f'<path class="band" d="{area(each, axis, window)}"/>' for each in _usual(shown)),
        "</svg>",
        *(_dot(dot, axis, window, text(dot.value)) for dot in shown),
        "</svg>",
    )
    return framed(key, finding, subject, parts)


def _legend(shown: Sequence[Dot]) -> Lines:
    yield '<ul class="legend">'
    for tone, (label, form) in _FORMS_OF_DOTS.items():
        if any(dot.tone == tone for dot in shown):
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


def _dot(dot: Dot, axis: Axis, window: Window, value: str) -> str:
    x, y = f"{100 * window.share(dot.at_s):.2f}%", f"{y_of(axis, dot.value):.1f}"
    title = f"<title>{in_html(dot.text)}, {stamp(dot.at_s, '%Y-%m-%d %H:%M')}: {value}</title>"
    form = _FORMS_OF_DOTS[dot.tone][1]
    return f'<svg class="dot {dot.tone}" x="{x}" y="{y}"><path d="{form}"/>{title}</svg>'
