"""A Discord message as terminal text. Accepts any JSON object, as any program may post to `jobmon inbox`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from jobmon.views.text_width import wrap
from jobmon_core.domain.humanize import duration

_BAR = "▌ "
_CODE = "│ "
_MIN_WIDTH = 20
_GREY = 0x99AAB5  # the bar of a message without a colour
_WHITE = 0xFFFFFF

_BLOCK = re.compile(r"```(?:\w*\n)?(.*?)\n?```", re.DOTALL)
_INLINE = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9\s])"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|`(?P<code>[^`\n]+)`"
    r"|<t:(?P<time>-?\d{1,13})(?::(?P<style>[tTdDfFR]))?>"
    r"|<(?P<mention>@[!&]?\d+)>"
)


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to render: the current time (Unix seconds), the terminal's width and colours, the time zone."""

    now_s: float
    width: int = 80
    colour: bool = False
    zone: tzinfo | None = None  # None: the zone of this machine


def discord_preview(payload: Mapping[str, object], options: RenderOptions) -> str:
    """Return a message, the body of a request to a Discord webhook, as lines without a final newline."""
    lines = [_plain(_text(payload, "username")) or "message"]
    inner = max(options.width, _MIN_WIDTH) - len(_BAR)
    lines += _markdown(_text(payload, "content"), options, inner)
    for embed in _mappings(payload, "embeds"):
        bar = _BAR
        if options.colour:
            bar = _coloured_bar(embed.get("color"))
        lines += [f"{bar}{line}".rstrip() for line in _embed(embed, options, inner)]
    return "\n".join(lines)


def _embed(embed: Mapping[str, object], options: RenderOptions, width: int) -> list[str]:
    # fields that Discord shows side by side get a line each
    fields = [f"{_text(field, 'name')}: {_text(field, 'value')}" for field in _mappings(embed, "fields")]
    parts = [
        wrap(_inline(_text(embed, "title"), options), width),
        _markdown(_text(embed, "description"), options, width),
        [line for field in fields for line in wrap(_inline(field, options), width)],
        wrap(_footer(embed, options), width),
    ]
    lines: list[str] = []
    for part in filter(any, parts):
        lines += ["", *part] if lines else part
    return lines


def _footer(embed: Mapping[str, object], options: RenderOptions) -> str:
    footer = embed.get("footer")
    text = ""
    if isinstance(footer, Mapping):
        text = _plain(_text(footer, "text"))
    try:
        shown = _local(datetime.fromisoformat(_text(embed, "timestamp")).timestamp(), options)
    except (ValueError, OverflowError):
        shown = ""
    return " · ".join(filter(None, (text, shown)))


def _markdown(text: str, options: RenderOptions, width: int) -> list[str]:
    """Render text with code blocks: text is wrapped; code is wrapped too, but keeps its spaces."""
    lines: list[str] = []
    for number, part in enumerate(_BLOCK.split(text)):
        if number % 2:
            lines += _code(part, width)
        elif part.strip():
            lines += wrap(_inline(part.strip("\n"), options), width)
    return lines


def _code(text: str, width: int) -> list[str]:
    pieces: list[str] = []
    for line in _plain(text).split("\n"):
        pieces += textwrap.wrap(line, width - len(_CODE), break_on_hyphens=False, drop_whitespace=False) or [
            ""
        ]
    return [f"{_CODE}{piece}" for piece in pieces]


def _inline(text: str, options: RenderOptions) -> str:
    return _plain(_INLINE.sub(lambda found: _resolved(found, options), text))


def _resolved(found: re.Match[str], options: RenderOptions) -> str:
    if found["time"]:
        return _time(found, options)
    if found["code"] and " " in found["code"] and not found["code"].startswith("/"):
        return found[0]  # a command: the marks show where it ends
    inner = found["escaped"] or found["code"] or found["mention"]
    return inner or _INLINE.sub(lambda nested: _resolved(nested, options), found["bold"])


def _time(found: re.Match[str], options: RenderOptions) -> str:
    """Return a timestamp as local time, or as a distance such as ``3m 05s ago``."""
    at_s = int(found["time"])
    if found["style"] == "R":
        age_s = options.now_s - at_s
        if age_s >= 0:
            return f"{duration(age_s)} ago"
        return f"in {duration(-age_s)}"
    return _local(at_s, options) or found[0]


def _local(at_s: float, options: RenderOptions) -> str:
    """Return a Unix time in the reader's time zone; empty if it is out of the range of datetime."""
    try:
        return datetime.fromtimestamp(at_s, tz=UTC).astimezone(options.zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


def _coloured_bar(colour: object) -> str:
    shade = _GREY
    if isinstance(colour, int) and 0 <= colour <= _WHITE:
        shade = colour
    red, green, blue = shade >> 16, shade >> 8 & 0xFF, shade & 0xFF
    return f"\x1b[38;2;{red};{green};{blue}m{_BAR}\x1b[0m"


def _plain(text: str) -> str:
    return "".join(each for each in text.expandtabs(4) if each == "\n" or each.isprintable())


def _text(holder: Mapping[str, object], key: str) -> str:
    """Return a string of a JSON object; empty if it is missing or no string."""
    value = holder.get(key)
    if isinstance(value, str):
        return value
    return ""


def _mappings(holder: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = holder.get(key)
    if isinstance(value, list):
        return [each for each in value if isinstance(each, Mapping)]
    return []
