"""Bars as inline SVG: columns, e.g. of weeks, in parts; and lists of bars. Each has colour and pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.report.chart import HEIGHT, TABLE_BEGIN, TOP, framed, number_text, opened, value_axis, y_of
from jobmon_core.domain.job.report.axis import linear_axis
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines

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
_TICKS = 5  # labels below the columns, at most
_FEWEST = 8  # columns: fewer are not wider
_FULL = 0.76  # of the room of a column
_ROW = 40  # pixels of a bar in a list, with its label


class Part(NamedTuple):
    """One part of each column, or one bar."""

    label: str
    tone: str  # the pattern: good, bad, soft, odd or warn
    values: tuple[float, ...]
    text: str = ""  # the value of a bar


class Columns(NamedTuple):
    """Columns of one picture, the first at the left."""

    subject: str  # what the axis counts
    unit: str
    labels: tuple[str, ...]  # of the columns
    ticks: tuple[str, ...]  # shorter, of which some are shown
    parts: tuple[Part, ...]  # from the bottom

    @property
    def heights(self) -> list[float]:
        """The heights of all columns."""
        return [sum(values) for values in zip(*(part.values for part in self.parts), strict=True)]


def columns_html(key: str, finding: str, pictures: Sequence[Columns]) -> str:
    """Return a figure with pictures of the same parts, below each other."""
    first, *others = pictures
    parts = [*_legend(first.parts), *_columns(key, finding, first)]
    for number, each in enumerate(others):
        parts.append(f'<p class="source">{in_html(each.subject)}</p>')
        parts += _columns(f"{key}{number}", finding, each)
    return framed(key, finding, first.subject, [*parts, *_table(pictures)])


def _legend(parts: Sequence[Part]) -> Lines:
    yield '<ul class="legend">'
    for part in parts:
        bar = _bar(part, ("0", "14"), (1, 12))
        yield f'<li><svg width="14" height="14" aria-hidden="true">{bar}</svg>{in_html(part.label)}</li>'
    yield "</ul>"


def _bar(part: Part, across: tuple[str, str], down: tuple[float, float], title: str = "") -> str:
    """Return a bar from a place, for a length, in both directions."""
    title = f"<title>{in_html(title)}</title>" if title else ""
    fill = "" if part.tone == "good" else f' fill="url(#p-{part.tone})"'
    place = f'x="{across[0]}" width="{across[1]}" y="{down[0]:.1f}" height="{down[1]:.1f}"'
    return f'<rect class="bar {part.tone}" {place}{fill}>{title}</rect>'


def _columns(key: str, finding: str, chart: Columns) -> Lines:
    axis = linear_axis(0.0, max(chart.heights) or 1.0)
    yield opened(key, finding, f"{chart.subject}: {chart.labels[0]} to {chart.labels[-1]}")
    yield from value_axis(axis, number_text)
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
    bottom_y = TOP + HEIGHT
    yield f'<line class="axis" x1="0" x2="100%" y1="{bottom_y}" y2="{bottom_y}"/>'
    for number in range(0, len(chart.ticks), -(-len(chart.ticks) // _TICKS)):
        x = f"{room * (number + 0.5):.2f}%"
        text = in_html(chart.ticks[number])
        yield f'<text class="tick" x="{x}" y="{bottom_y + 19}" text-anchor="middle">{text}</text>'
    yield "</svg>"


def _table(pictures: Sequence[Columns]) -> Lines:
    yield f'{TABLE_BEGIN}<table><thead><tr><th scope="col"></th>'
    parts = [(part, each.unit) for each in pictures for part in each.parts]
    yield "".join(f'<th scope="col">{in_html(part.label)}, {in_html(unit)}</th>' for part, unit in parts)
    yield "</tr></thead><tbody>"
    for number, label in enumerate(pictures[0].labels):
        cells = "".join(f"<td>{part.values[number]:,.4g}</td>" for part, _ in parts)
        yield f'<tr><th scope="row">{in_html(label)}</th>{cells}</tr>'
    yield "</tbody></table></div></details>"


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
