"""Bars and dots as inline SVG. What colours tell apart, patterns and forms do, too.

Columns are those of weeks or classes, in parts; lists of bars have labels; a dot is a run over time.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.model import stamp
from jobmon.views.report.chart import (
    BAND,
    STRETCHED,
    area,
    axis_of,
    bottom_axis,
    framed,
    legend,
    number_text,
    opened,
    value_axis,
    values_table,
    y_of,
)
from jobmon_core.domain.job.report.axis import linear_axis
from jobmon_core.domain.job.report.series import Point, Window
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon.views.console import Lines
    from jobmon_core.domain.job.report.axis import Axis

# what the pictures of a page fill their parts with; in colours of the style sheet
PATTERNS = """\
<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>
<pattern id="p-bad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<path class="bad" d="M0 0H6V6H0Z"/><path class="gap" d="M0 0H2V6H0Z"/></pattern>
<pattern id="p-soft" width="6" height="6" patternUnits="userSpaceOnUse">\
<path class="soft" d="M1 1H3.5V3.5H1ZM4 4H6V6H4Z"/></pattern>
<pattern id="p-odd" width="5" height="5" patternUnits="userSpaceOnUse">\
<path class="soft" d="M0 0H5V1.5H0Z"/></pattern>
<pattern id="p-warn" width="5" height="5" patternUnits="userSpaceOnUse">\
<path class="warn" d="M0 0H5V5H0Z"/><path class="gap" d="M0 0H1.5V5H0Z"/></pattern>
</defs></svg>"""
_COLUMN_TICKS, _DATE_TICKS = 5, 4  # labels below columns, at most, and below dots
_FEWEST = 8  # columns: fewer are not wider
_FULL = 0.76  # of the room of a column
_ROW = 40  # pixels of a bar in a list, with its label
MAX_DOTS = 400
_MARGIN = 0.03  # of the width, at both ends
_DAY_S = 86_400.0
_DATE_FORMS = ((2 * _DAY_S, "%a %H:%M"), (300 * _DAY_S, "%d %b"))  # on axes up to these times
# by tone: what it means, and its form
_FORMS_OF_DOTS = {
    "good": ("succeeded", "M-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0"),
    "bad": ("failed", "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5"),
    "soft": ("cancelled", "M-3 -3H3V3H-3Z"),
    "odd": ("unknown", "M0 -4L4 0L0 4L-4 0Z"),
    "warn": ("slower than usual", "M0 -5L5 4H-5Z"),
    "this": ("this run", "M0 -7L7 0L0 7L-7 0Z"),
}


class Part(NamedTuple):
    """One part of each column, or one bar."""

    label: str
    tone: str  # the pattern: good, bad, soft, odd or warn
    values: tuple[float, ...]
    text: str = ""  # the value of a bar


class Columns(NamedTuple):
    """Columns, the first at the left."""

    subject: str  # what the axis counts
    unit: str
    labels: tuple[str, ...]  # of the columns
    ticks: tuple[str, ...]  # shorter, of which some are shown
    parts: tuple[Part, ...]  # from the bottom


def columns_html(key: str, finding: str, chart: Columns) -> str:
    """Return a figure with columns, a legend and a table."""
    samples = (
        (f'width="14" height="14">{_bar(part, ("0", "14"), (1, 12))}', part.label) for part in chart.parts
    )
    rows = zip(chart.labels, zip(*(part.values for part in chart.parts), strict=True), strict=True)
    table = values_table("", [f"{part.label}, {chart.unit}" for part in chart.parts], rows)
    return framed(key, finding, chart.subject, (*legend(samples), *_columns(key, finding, chart), *table))


def _bar(part: Part, across: tuple[str, str], down: tuple[float, float], title: str = "") -> str:
    """Return a bar from a place, for a length, in both directions."""
    title = f"<title>{in_html(title)}</title>" if title else ""
    fill = "" if part.tone == "good" else f' fill="url(#p-{part.tone})"'
    place = f'x="{across[0]}" width="{across[1]}" y="{down[0]:.1f}" height="{down[1]:.1f}"'
    return f'<rect class="bar {part.tone}" {place}{fill}>{title}</rect>'


def _columns(key: str, finding: str, chart: Columns) -> Lines:
    heights = [sum(values) for values in zip(*(part.values for part in chart.parts), strict=True)]
    axis = linear_axis(0.0, max(heights) or 1.0)
    yield opened(key, finding, f"{chart.subject}: {chart.labels[0]} to {chart.labels[-1]}")
    yield from value_axis(axis)
    room = 100 / len(chart.labels)
    width = _FULL * min(room, 100 / _FEWEST)
    below = [0.0] * len(chart.labels)
    for part in chart.parts:
        for number, value in enumerate(part.values):
            if value > 0:
                top, bottom = y_of(axis, below[number] + value), y_of(axis, below[number])
                below[number] += value
                x = f"{room * (number + 0.5) - width / 2:.2f}%"
                title = f"{chart.labels[number]}: {value:,.4g} {chart.unit}, {part.label}"
                yield _bar(part, (x, f"{width:.2f}%"), (top, max(1.0, bottom - top)), title)
    labelled = range(0, len(chart.ticks), -(-len(chart.ticks) // _COLUMN_TICKS))
    yield from bottom_axis((room * (number + 0.5) / 100, chart.ticks[number]) for number in labelled)
    yield "</svg>"


def bars_html(key: str, finding: str, subject: str, bars: Sequence[Part]) -> str:
    """Return a figure with a list of bars, each with its label and value above it."""
    highest = max(part.values[0] for part in bars)
    parts = [opened(key, finding, subject, _ROW * len(bars)).replace('"chart"', '"chart list"')]
    for number, part in enumerate(bars):
        y = _ROW * number
        parts += (
            f'<text x="0" y="{y + 14}">{in_html(part.label)}</text>',
            f'<text class="value" x="100%" y="{y + 14}" text-anchor="end">{in_html(part.text)}</text>',
            _bar(part, ("0", f"{100 * part.values[0] / highest:.2f}%"), (y + 20, 12)),
        )
    return framed(key, finding, subject, [*parts, "</svg>"])


class Dot(NamedTuple):
    """One run."""

    at_s: float
    value: float
    tone: str  # one of `_FORMS_OF_DOTS`
    text: str
    usual: tuple[float, float] | None = None  # from where to where a value is usual for it


def dots_html(
    key: str, finding: str, subject: str, dots: Iterable[Dot], text: Callable[[float], str] = number_text
) -> str:
    """Return a figure; empty if there are not two runs.

    ``subject`` is what the axis counts, ``text`` shows the value of a dot.
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
    axis = axis_of(min(values), max(values))
    parts = (
        *_dots_legend(shown),
        opened(key, finding, f"{subject}: {len(shown)} dots"),
        *value_axis(axis),
        *_date_axis(window),
        STRETCHED,
        *(f'<path class="band" d="{area(each, axis, window)}"/>' for each in _usual(shown)),
        "</svg>",
        *(_dot(dot, axis, window, text(dot.value)) for dot in shown),
        "</svg>",
    )
    return framed(key, finding, subject, parts)


def _dots_legend(shown: Sequence[Dot]) -> Lines:
    box, tones = 'viewBox="-8 -8 16 16" width="16" height="16"', {dot.tone for dot in shown}
    samples = [
        (f'class="dot {tone}" {box}><path d="{form}"/>', label)
        for tone, (label, form) in _FORMS_OF_DOTS.items()
        if tone in tones
    ]
    if any(dot.usual for dot in shown):
        samples.append((BAND, "usual, by the five successful runs before"))
    yield from legend(samples)


def _date_axis(window: Window) -> Lines:
    form = next((form for span_s, form in _DATE_FORMS if window.span_s <= span_s), "%b %Y")
    shares = [_MARGIN + (1 - 2 * _MARGIN) * number / (_DATE_TICKS - 1) for number in range(_DATE_TICKS)]
    yield from bottom_axis((share, stamp(window.start_s + share * window.span_s, form)) for share in shares)


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
