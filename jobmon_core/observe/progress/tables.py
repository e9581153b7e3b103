"""Read tables: a line names the columns, one of which is a counter; the lines below are its rows."""

from __future__ import annotations

import re
from functools import lru_cache

from jobmon_core.domain.logs.progress.log.formats import Format

ROW = Format("table", "", fallback=True)
_SEPARATORS = "\t,;|"
_MAX_HEADER = 500  # characters
_MAX_COLUMNS = 60
_COUNTERS = re.compile(
    r"(?:trainer/)?(?:(?:global|train|training|time|total|num)[ _]?)?"
    r"(?:steps?|timesteps?|iters?|iterations?|updates?)"
    r"|it|(?:n_)?gens?|generations?|episodes?|rounds?|trials?|states?|samples?"
)
_OF_TOTAL = re.compile(r"/(?:total|max|num|all)[\w-]{0,20}\Z")  # behind the name of a column of n/N
_SPEED = re.compile(r"-+|[\d.]+ ?\w+/\w[\w ]*")  # BEAST prints it behind the columns that it names
_EPOCHS = re.compile(r"(?:train[ _])?epochs?")
_OTHERS = {  # the names of further columns, by what they show
    "percent": re.compile(r"progress ?\(%\)|(?:percent|%) ?(?:done|completed?)"),
    "eta": re.compile(r"eta|(?:time )?(?:remaining|left)(?: time)?"),
    "loss": re.compile(r"(?:train(?:ing)?[ _/]?)?loss"),
    "lr": re.compile(r"lr|learning[ _]rate"),
}
# a line of words between single blanks is a header only if one word names a metric; few sentences do
_METRIC = re.compile(
    r"\w*loss\w*|\w*acc\w*|lr|time|temp\w*|\w*energy|\w*_\w+|\w*err\w*|rmse|mse|mae|obj\w*|reward"
)
_COUNT = re.compile(r"(\d{1,15})(?:\.0*)?(?:/\d{1,15})?")
_EPOCH = re.compile(r"\d{1,9}(?:\.\d{0,20})?")
_VALUE = re.compile(
    r"[-+]?[\d.][\d.,:e+-]{0,40} ?(?:%|[smhd]|min)?|[-+]?(?:nan|inf)|none|n/a|-{1,3}|\d+/\d+|"
)


def is_header(text: str) -> bool:
    """Whether a line names columns, one of which is a counter."""
    return len(text) <= _MAX_HEADER and not text.endswith(":") and bool(_layouts(text))


def row_of(header: str, text: str) -> dict[str, str] | None:
    """Return the cells of a row below a header, by the names of a `Format`'s groups."""
    for separator, columns, count in _layouts(header):
        cells = _cells(text, separator)
        if len(cells) == count + 1 and _SPEED.fullmatch(cells[-1]):
            cells.pop()
        if len(cells) == count and any(map(str.isdigit, text)) and _has_values(cells, separator):
            values = {name: cells[index] for index, name in columns}
            if _COUNT.fullmatch(values.get("n", "0")) and _EPOCH.fullmatch(values.get("epoch", "0")):
                return _plain({name: value for name, value in values.items() if value.strip("-")})
    return None


def _has_values(cells: list[str], separator: str) -> bool:
    """Whether the cells hold values; if a visible separator or a tab shows that it is a row, most of them."""
    known = sum(bool(_VALUE.fullmatch(cell.lower())) for cell in cells)
    return known == len(cells) or (bool(separator.strip(" ")) and known > len(cells) // 2)


def _plain(values: dict[str, str]) -> dict[str, str]:
    """Return the values without the fraction of a count and the sign of a percentage; split ``n/N``."""
    n, _, total = values.get("n", "").partition("/")
    if n:
        values["n"] = n.partition(".")[0]
    if total:
        values["total"] = total
    if "percent" in values:  # the program's own share counts, rather than a total that follows from it
        values["percent"] = values["percent"].rstrip("% ")
        values.pop("n", None)
    return values


@lru_cache(maxsize=32)
def _layouts(header: str) -> tuple[tuple[str, tuple[tuple[int, str], ...], int], ...]:
    separator = next((each for each in _SEPARATORS if each in header), "")
    if separator:
        found = [(separator, _cells(header, separator))]
    else:
        # a name may have blanks in it, if more than one separates the columns
        wide = [_bare(name) for name in re.split(r"\s{2,}", header.strip().lstrip("#").strip())]
        found = [(" ", wide), (" ", _cells(header, " "))]
    layouts = []
    for each, cells in found:
        names = [name.lower() for name in cells]
        columns = _columns(names)
        is_sentence = not separator and "  " not in header and not any(map(_METRIC.fullmatch, names))
        if columns and not is_sentence and 1 < len(names) <= _MAX_COLUMNS:
            layouts.append((each, columns, len(names)))
    return tuple(layouts)


def _columns(names: list[str]) -> tuple[tuple[int, str], ...]:
    if not all(names) or any(_VALUE.fullmatch(name) for name in names):
        return ()
    plain = [_OF_TOTAL.sub("", name) for name in names]
    wanted = {"n": _COUNTERS, "epoch": _EPOCHS, **_OTHERS}
    found = [
        (index, group)
        for group, expression in wanted.items()
        if (index := next((i for i, name in enumerate(plain) if expression.fullmatch(name)), -1)) >= 0
    ]
    if {"n", "epoch", "percent"} & {group for _, group in found}:
        return tuple(found)
    return ()


def _cells(text: str, separator: str) -> list[str]:
    text = text.strip().lstrip("#").strip(" ")
    if separator == " ":
        return [_bare(cell) for cell in text.split()]
    text = text.strip("|") if separator == "|" else text
    return [_bare(cell) for cell in text.split(separator)]


def _bare(cell: str) -> str:
    return cell.strip().strip("'\"#").strip()
