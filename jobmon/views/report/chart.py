"""Charts as inline SVG that fits any width: the curves are stretched, texts and strokes keep their size.

Places in the outer picture are shares of its width; the curves are in an inner one with a view box that is
stretched to the plot area. Colours are variables of the page's style sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.report.axis import linear_axis, logarithmic_axis, time_ticks
from jobmon_core.domain.job.report.series import Series, tabulated
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines
    from jobmon_core.domain.job.report.axis import Axis
    from jobmon_core.domain.job.report.series import Point, Window
    from jobmon_core.domain.logs.progress.events.event import Event

    Rows = Iterable[tuple[str, Iterable[float | None]]]

_COLOURS, _DASHES = 8, 4  # how many the style sheet has
WIDTH, HEIGHT = 1000, 150  # of the view box; the height is also that of the plot area in pixels
TOP, BOTTOM = 18, 26  # pixels above and below the plot area
# the curves: what is within is stretched to the plot area
STRETCHED = (
    f'<svg y="{TOP}" width="100%" height="{HEIGHT}" '
    f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
)
_MIN_NUMBER_GAP = 0.02  # of the width, between the numbers of two marks
_NEAR_END = 0.06  # of the width: labels so near to an end begin or end at their ticks, not to be cut off
_TABLE_ROWS = 24
_LOGARITHMIC_FROM = 50.0  # ratio of highest to lowest value: above it, an axis not from zero is logarithmic
_NO_SERIES = Series()


class Line(NamedTuple):
    """One curve of a chart."""

    label: str
    series: Series
    summary: str = ""  # e.g. its mean, for the legend


@dataclass(frozen=True, slots=True)
class Chart:
    """What a chart shows. All values are in its unit."""

    key: str  # unique on the page
    finding: str  # its title: what it shows, in a few words
    subject: str  # what the axis counts, with the unit
    lines: tuple[Line, ...]
    band: Series = _NO_SERIES  # from the lowest to the highest of all curves, drawn or not
    limit: float | None = None  # drawn as a horizontal line
    limit_label: str = ""
    full: float | None = None  # the axis ends here, or at a higher value; None: at the highest value or limit
    from_zero: bool = True  # else the axis begins at the lowest value, and may be logarithmic


def tone(event: Event) -> str:
    """Return the class of an event in the style sheet."""
    if event.kind is EventKind.RECOVERED:
        return "good"
    return "critical" if event.is_critical else "warning"


def figure_html(chart: Chart, window: Window, marked: Sequence[Event]) -> str:
    """Return a chart with its title, legend and table; empty if no curve has two points.

    The ``marked`` events are numbered from 1.
    """
    if all(len(line.series.points) < 2 for line in chart.lines):  # noqa: PLR2004 - one point shows no course
        return ""
    values = tabulated([line.series for line in chart.lines], window, _TABLE_ROWS)
    rows = ((duration(until_s), each) for until_s, each in values)
    table = values_table("until", [line.label for line in chart.lines], rows)
    parts = (*_legend(chart), *_picture(chart, window, marked), *table)
    return framed(chart.key, chart.finding, chart.subject, parts)


def framed(key: str, finding: str, subject: str, parts: Iterable[str]) -> str:
    """Return a figure with its title, and what its axis counts."""
    caption = f"<figcaption><h3>{in_html(finding)}</h3><p>{in_html(subject)}</p></figcaption>"
    return "\n".join((f'<figure id="{key}">', caption, *parts, "</figure>"))


def _legend(chart: Chart) -> Lines:
    if len(chart.lines) < 2 and not chart.band.points:  # noqa: PLR2004 - one curve is named by the title
        return
    samples = []
    for number, line in enumerate(chart.lines):
        summary = f" <span>{in_html(line.summary)}</span>" if line.summary else ""
        path = f'<path class="{_style(number)}" d="M0 5H28"/>'
        samples.append((f'width="28" height="10">{path}', f"{in_html(line.label)}{summary}"))
    if chart.band.points:
        samples.append((BAND, "lowest to highest"))
    yield from legend(samples)


BAND = 'width="28" height="10"><path class="band" d="M0 0H28V10H0Z"/>'  # its sample in a legend


def legend(samples: Iterable[tuple[str, str]]) -> Lines:
    """Yield a legend: of each entry an SVG, from its attributes on, and a text as HTML."""
    yield '<ul class="legend">'
    yield from (f'<li><svg aria-hidden="true" {svg}</svg>{text}</li>' for svg, text in samples)
    yield "</ul>"


def _picture(chart: Chart, window: Window, marked: Sequence[Event]) -> Lines:
    axis = _axis(chart)
    yield opened(chart.key, chart.finding, _description(chart, window))
    yield from value_axis(axis)
    yield from _time_axis(window)
    yield STRETCHED
    yield from (f'<path class="band" d="{area(each, axis, window)}"/>' for each in chart.band.stretches)
    for number, line in enumerate(chart.lines):
        path = " ".join(_path(stretch, axis, window) for stretch in line.series.stretches)
        yield f'<path class="{_style(number)}" d="{path}"/>'
    yield "</svg>"
    yield from _limit(chart, axis)
    yield from _marks(window, marked)
    yield "</svg>"


def opened(key: str, finding: str, description: str, height: int = TOP + HEIGHT + BOTTOM) -> str:
    """Return the beginning of a picture, with what a screen reader says of it."""
    return (
        f'<svg class="chart" role="img" aria-labelledby="{key}-t {key}-d" width="100%" height="{height}">'
        f'<title id="{key}-t">{in_html(finding)}</title><desc id="{key}-d">{in_html(description)}</desc>'
    )


def _style(number: int) -> str:
    return f"line c{number % _COLOURS} d{(number + number // _DASHES) % _DASHES}"


def _axis(chart: Chart) -> Axis:
    points = [point for line in chart.lines for point in line.series.points]
    points += chart.band.points
    low, high = min(point.low for point in points), max(point.high for point in points)
    if not chart.from_zero:
        return axis_of(low, high)
    low, high = min(0.0, low), max(filter(None, (high, chart.limit, chart.full)), default=1.0)
    return linear_axis(low, high if high > low else low + 1)


def axis_of(low: float, high: float) -> Axis:
    """Return an axis that holds both values, which is logarithmic if they differ very much."""
    if low > 0 and high / low > _LOGARITHMIC_FROM:
        return logarithmic_axis(low, high)
    return linear_axis(low, high)


def _description(chart: Chart, window: Window) -> str:
    names = ", ".join(f"{line.label} {line.summary}".strip() for line in chart.lines)
    return f"{chart.subject} over {duration(window.span_s)}. {names}."


def value_axis(axis: Axis) -> Lines:
    """Yield the horizontal lines of a picture, with their values."""
    for tick in axis.ticks:
        y = y_of(axis, tick)
        yield f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="-6" y="{y + 4:.1f}" text-anchor="end">{number_text(tick)}</text>'


def number_text(value: float) -> str:
    """Return a value of an axis."""
    if abs(value) >= 1e6 or 0 < abs(value) < 1e-3:  # noqa: PLR2004 - too long with all its digits
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    if value == round(value):
        return f"{value:,.0f}"
    return f"{value:.4f}".rstrip("0")


def _time_axis(window: Window) -> Lines:
    ticks_s = time_ticks(window.span_s)
    ticks = ((each / window.span_s, duration(each) if each else "0") for each in ticks_s)
    yield from bottom_axis(ticks, "late")


def bottom_axis(ticks: Iterable[tuple[float, str]], last: str = "") -> Lines:
    """Yield the axis below a picture, given the places of its ticks, as shares of its width, and labels.

    A label at its end has the class ``last``: where there is little room, ``late`` is hidden.
    """
    bottom = TOP + HEIGHT
    for share, label in ticks:
        anchor = "start" if share < _NEAR_END else "end" if share > 1 - _NEAR_END else "middle"
        x, text = f"{100 * share:.2f}%", in_html(label)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{bottom}" y2="{bottom + 5}"/>'
        style = f"tick {last}" if last and anchor == "end" else "tick"
        yield f'<text class="{style}" x="{x}" y="{bottom + 19}" text-anchor="{anchor}">{text}</text>'
    yield f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>'


def _limit(chart: Chart, axis: Axis) -> Lines:
    if chart.limit is None:
        return
    y = y_of(axis, chart.limit)
    yield f'<line class="limit" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
    yield f'<text class="limit" x="4" y="{y - 4:.1f}">{in_html(chart.limit_label)}</text>'


def _marks(window: Window, marked: Sequence[Event]) -> Lines:
    last = -1.0
    for number, event in enumerate(marked, 1):
        share = window.share(event.at_s)
        x = f"{100 * share:.2f}%"
        yield f'<g class="mark {tone(event)}"><title>{number}. {in_html(event.text)}</title>'
        yield f'<line x1="{x}" x2="{x}" y1="{TOP - 3}" y2="{TOP + HEIGHT}"/>'
        if share - last >= _MIN_NUMBER_GAP:
            yield f'<text x="{x}" y="{TOP - 6}" text-anchor="middle">{number}</text>'
            last = share
        yield "</g>"


def y_of(axis: Axis, value: float) -> float:
    """Return where a value lies in a picture, in pixels from its top."""
    return TOP + _y(axis, value)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT * (1 - axis.share(value))


def _place(at_s: float, value: float, axis: Axis, window: Window) -> str:
    return f"{WIDTH * window.share(at_s):.1f} {_y(axis, value):.1f}"


def _path(points: Sequence[Point], axis: Axis, window: Window) -> str:
    first, *others = [_place(point.at_s, point.mean, axis, window) for point in points]
    return f"M{first}" + "".join(f"L{place}" for place in others or [first])


def area(points: Sequence[Point], axis: Axis, window: Window) -> str:
    """Return the path around what lies between the lowest and the highest values."""
    tops = [_place(point.at_s, point.high, axis, window) for point in points]
    bottoms = [_place(point.at_s, point.low, axis, window) for point in reversed(points)]
    return f"M{'L'.join((*tops, *bottoms))}Z"


def values_table(corner: str, names: Iterable[str], rows: Rows) -> Lines:
    """Yield the values of a figure as a table that is closed at first."""
    # who uses only keys must be able to scroll it
    yield '<details><summary>Table</summary><div tabindex="0" role="group" aria-label="Table"><table>'
    heads = "".join(f'<th scope="col">{in_html(name)}</th>' for name in (corner, *names))
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for label, values in rows:
        cells = "".join(f"<td>{'' if value is None else f'{value:,.4g}'}</td>" for value in values)
        yield f'<tr><th scope="row">{in_html(label)}</th>{cells}</tr>'
    yield "</tbody></table></div></details>"
