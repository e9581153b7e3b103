"""A Discord message as terminal text; any program may post any JSON object to `jobmon inbox`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from jobmon.views.model import stamp
from jobmon.views.text_width import wrap
from jobmon_core.domain.humanize import duration

if TYPE_CHECKING:
    from jobmon.views.console import Console

_BAR = "▌ "
_CODE = "│ "
_MIN_WIDTH = 20
_GREY = 0x99AAB5  # the bar of a message without a colour
_WHITE = 0xFFFFFF
_MINUTE = "%Y-%m-%d %H:%M"
_LAST_S = 253_402_300_799  # the end of the year 9999

_BLOCK = re.compile(r"```(?:\w*\n)?(.*?)\n?```", re.DOTALL)
_INLINE = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9\s])"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|`(?P<code>[^`\n]+)`"
    r"|<t:(?P<time>-?\d{1,13})(?::(?P<style>[tTdDfFR]))?>"
    r"|<(?P<mention>@[!&]?\d+)>"
)


def discord_preview(payload: Mapping[str, object], now_s: float, console: Console) -> str:
    """Return the body of a request to a Discord webhook as text."""
    lines = [_plain(_text(payload, "username")) or "message"]
    inner = max(console.width, _MIN_WIDTH) - len(_BAR)
    lines += _markdown(_text(payload, "content"), now_s, inner)
    for embed in _mappings(payload, "embeds"):
        bar = _coloured_bar(embed.get("color")) if console.colour else _BAR
        lines += [f"{bar}{line}".rstrip() for line in _embed(embed, now_s, inner)]
    return "\n".join(lines)


def _embed(embed: Mapping[str, object], now_s: float, width: int) -> list[str]:
    # fields that Discord shows side by side get a line each
    fields = [f"{_text(field, 'name')}: {_text(field, 'value')}" for field in _mappings(embed, "fields")]
    parts = [
        wrap(_inline(_text(embed, "title"), now_s), width),
        _markdown(_text(embed, "description"), now_s, width),
        [line for field in fields for line in wrap(_inline(field, now_s), width)],
        wrap(_footer(embed), width),
    ]
    lines: list[str] = []
    for part in filter(any, parts):
        lines += ["", *part] if lines else part
    return lines


def _footer(embed: Mapping[str, object]) -> str:
    footer = embed.get("footer")
    text = ""
    if isinstance(footer, Mapping):
        text = _plain(_text(footer, "text"))
    try:
        shown = stamp(datetime.fromisoformat(_text(embed, "timestamp")).timestamp(), _MINUTE)
    except (ValueError, OverflowError):
        shown = ""
    return " · ".join(filter(None, (text, shown)))


def _markdown(text: str, now_s: float, width: int) -> list[str]:
    """Render text with code blocks; code is wrapped too, but keeps its spaces."""
    lines: list[str] = []
    for number, part in enumerate(_BLOCK.split(text)):
        if number % 2:
            lines += _code(part, width)
        elif part.strip():
            lines += wrap(_inline(part.strip("\n"), now_s), width)
    return lines


def _code(text: str, width: int) -> list[str]:
    pieces: list[str] = []
    for line in _plain(text).split("\n"):
        pieces += textwrap.wrap(line, width - len(_CODE), break_on_hyphens=False, drop_whitespace=False) or [
            ""
        ]
    return [f"{_CODE}{piece}" for piece in pieces]


def _inline(text: str, now_s: float) -> str:
    return _plain(_INLINE.sub(lambda found: _resolved(found, now_s), text))


def _resolved(found: re.Match[str], now_s: float) -> str:
    if found["time"]:
        return _time(found, now_s)
    if found["code"] and " " in found["code"] and not found["code"].startswith("/"):
        return found[0]  # a command: the marks show where it ends
    inner = found["escaped"] or found["code"] or found["mention"]
    return inner or _INLINE.sub(lambda nested: _resolved(nested, now_s), found["bold"])


def _time(found: re.Match[str], now_s: float) -> str:
    """Return a timestamp as local time, or as a distance such as ``3m 05s ago``."""
    at_s = int(found["time"])
    if found["style"] == "R":
        age_s = now_s - at_s
        if age_s >= 0:
            return f"{duration(age_s)} ago"
        return f"in {duration(-age_s)}"
    if abs(at_s) > _LAST_S:
        return found[0]
    return stamp(at_s, _MINUTE)


def _coloured_bar(colour: object) -> str:
    shade = _GREY
    if isinstance(colour, int) and 0 <= colour <= _WHITE:
        shade = colour
    red, green, blue = shade >> 16, shade >> 8 & 0xFF, shade & 0xFF
    return f"\x1b[38;2;{red};{green};{blue}m{_BAR}\x1b[0m"


def _plain(text: str) -> str:
    return "".join(each for each in text.expandtabs(4) if each == "\n" or each.isprintable())


def _text(holder: Mapping[str, object], key: str) -> str:
    """Return a string; empty if it is missing or none."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    return ""


def _mappings(holder: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = holder.get(key)
    if isinstance(value, list):
        return [each for each in value if isinstance(each, Mapping)]
    return []
