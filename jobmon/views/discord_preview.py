"""A Discord message as text: how it would look, for a terminal. Pure, and total: the JSON is anybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import groupby, zip_longest
from typing import NamedTuple

from jobmon.views.text_width import chunks, pad, wrap

_BAR = "▌ "
_CODE = "│ "
_NARROWEST = 20
_COLUMN = 24  # cells; as many columns as fit, at most three as in Discord
_MOST_COLUMNS = 3
_GAP = 2
_GREY = 0x99AAB5  # the bar of a message that names no colour
_WHITE = 0xFFFFFF

_BLOCK = re.compile(r"```(?:\w*\n)?(.*?)\n?```", re.DOTALL)
_INLINE = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9\s])"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|`(?P<code>[^`\n]+)`"
    r"|<t:(?P<time>-?\d{1,13})(?::(?P<style>[tTdDfFR]))?>"
    r"|<(?P<mention>@[!&]?\d+)>"
)
_SPANS = ((86_400 * 365, "year"), (86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to draw: cells of the terminal, colour or not, and what "now" (Unix seconds) and "here" are."""

    now_s: float
    width: int = 80
    colour: bool = False
    zone: tzinfo | None = None  # None: the machine's own


class _Style(NamedTuple):
    """The escape codes of one look; all empty without colour."""

    bar: str = ""
    bold: str = ""
    dim: str = ""
    end: str = ""


def discord_preview(payload: Mapping[str, object], look: RenderOptions) -> str:
    """Return a message as lines of text that end without a newline.

    Args:
        payload: The body of a request to a Discord webhook.
        look: How to draw it.
    """
    lines = [_plain(_text(payload, "username")) or "message"]
    inner = max(look.width, _NARROWEST) - len(_BAR)
    lines += _content(_text(payload, "content"), look, inner)
    for embed in _mappings(payload, "embeds"):
        style = _style(embed.get("color"), look)
        lines += [
            f"{style.bar}{_BAR}{style.end}{line}".rstrip() for line in _embed(embed, look, style, inner)
        ]
    return "\n".join(lines)


def _content(text: str, look: RenderOptions, width: int) -> list[str]:
    """Draw the text that stands before the frame."""
    return _markdown(text, look, _Style(), width) if text else []


def _embed(embed: Mapping[str, object], look: RenderOptions, style: _Style, width: int) -> list[str]:
    """Draw the framed part, a blank line between its parts."""
    title = wrap(_inline(_text(embed, "title"), look), width)
    parts = [
        [f"{style.bold}{line}{style.end}" for line in title if line],
        _markdown(_text(embed, "description"), look, style, width),
        _fields(_mappings(embed, "fields"), look, style, width),
        [f"{style.dim}{line}{style.end}" for line in wrap(_footer(embed, look), width) if line],
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += ["", *part] if lines else part
    return lines


def _footer(embed: Mapping[str, object], look: RenderOptions) -> str:
    """Return the last line: the footer's text and the time of the message."""
    footer = embed.get("footer")
    text = _plain(_text(footer, "text")) if isinstance(footer, Mapping) else ""
    try:
        at = datetime.fromisoformat(_text(embed, "timestamp"))
        shown = _local(at.timestamp(), look)
    except (ValueError, OverflowError, OSError):
        shown = ""
    return " · ".join(filter(None, (text, shown)))


def _markdown(text: str, look: RenderOptions, style: _Style, width: int) -> list[str]:
    """Draw text with code blocks: prose is wrapped, code is cut and keeps its spaces."""
    lines: list[str] = []
    for number, part in enumerate(_BLOCK.split(text)):
        if number % 2:
            lines += _code(part, style, width)
        elif part.strip():
            lines += wrap(_inline(part.strip("\n"), look), width)
    return lines


def _code(text: str, style: _Style, width: int) -> list[str]:
    """Draw a code block behind a rule of its own."""
    pieces = [piece for line in _plain(text).split("\n") for piece in chunks(line, width - len(_CODE))]
    return [f"{style.dim}{_CODE}{style.end}{piece}" for piece in pieces]


def _fields(fields: list[Mapping[str, object]], look: RenderOptions, style: _Style, width: int) -> list[str]:
    """Draw the fields: inline ones side by side, each other one over the whole width."""
    columns = max(1, min(_MOST_COLUMNS, width // _COLUMN))
    lines: list[str] = []
    for inline, group in groupby(fields, key=lambda field: field.get("inline") is True):
        members, abreast = list(group), columns if inline else 1
        for start in range(0, len(members), abreast):
            lines += _row(members[start : start + abreast], look, style, width // abreast)
    return lines


def _row(fields: list[Mapping[str, object]], look: RenderOptions, style: _Style, width: int) -> list[str]:
    """Draw fields side by side, each ``width`` cells wide with the gap to the next."""
    room = width - _GAP
    names = [wrap(_inline(_text(field, "name"), look), room) for field in fields]
    values = [_markdown(_text(field, "value"), look, _Style(), room) for field in fields]
    return [
        *(f"{style.bold}{line}{style.end}" for line in _side_by_side(names, width)),
        *_side_by_side(values, width),
    ]


def _side_by_side(cells: list[list[str]], width: int) -> list[str]:
    """Join blocks of lines into lines, each block padded to ``width``."""
    rows = zip_longest(*cells, fillvalue="")
    return ["".join(pad(each, width) for each in row).rstrip() for row in rows]


def _inline(text: str, look: RenderOptions) -> str:
    """Return text with Discord's marks within a line resolved."""
    return _plain(_INLINE.sub(lambda found: _resolved(found, look), text))


def _resolved(found: re.Match[str], look: RenderOptions) -> str:
    """Return what one mark stands for."""
    if found["time"]:
        return _time(found, look)
    inner = found["escaped"] or found["code"] or found["mention"]
    return inner or _INLINE.sub(lambda nested: _resolved(nested, look), found["bold"])


def _time(found: re.Match[str], look: RenderOptions) -> str:
    """Return a timestamp as the reader's own time, or how far off it is."""
    at_s = int(found["time"])
    if found["style"] == "R":
        return _relative(at_s - look.now_s)
    try:
        return _local(at_s, look)
    except (ValueError, OverflowError, OSError):  # a year that has no name
        return found[0]


def _local(at_s: float, look: RenderOptions) -> str:
    """Return a Unix time in the reader's zone."""
    return datetime.fromtimestamp(at_s, tz=UTC).astimezone(look.zone).strftime("%Y-%m-%d %H:%M")


def _relative(seconds: float) -> str:
    """Return a distance in time in words, e.g. ``3 minutes ago``."""
    for span_s, name in _SPANS:
        count = int(abs(seconds) // span_s)
        if count:
            words = f"{count} {name}" if count == 1 else f"{count} {name}s"
            return f"in {words}" if seconds > 0 else f"{words} ago"
    return "now"


def _style(colour: object, look: RenderOptions) -> _Style:
    """Return the escape codes for an embed's colour."""
    if not look.colour:
        return _Style()
    shade = colour if isinstance(colour, int) and 0 <= colour <= _WHITE else _GREY
    red, green, blue = shade >> 16, shade >> 8 & 0xFF, shade & 0xFF
    return _Style(f"\x1b[38;2;{red};{green};{blue}m", "\x1b[1m", "\x1b[2m", "\x1b[0m")


def _plain(text: str) -> str:
    """Return text without anything that a terminal would obey, and without invisible letters."""
    return "".join(each for each in text.expandtabs(4) if each == "\n" or each.isprintable())


def _text(holder: Mapping[str, object], key: str) -> str:
    """Return a text of a JSON object; empty where there is none."""
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _mappings(holder: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """Return the objects of a list in a JSON object."""
    value = holder.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
