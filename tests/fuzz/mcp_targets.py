"""What holds for whatever a client sends to `jobmon mcp`, and whatever a command prints."""

from __future__ import annotations

import json

from jobmon.mcp.log_text import set_apart
from jobmon.mcp.protocol import Cancelled, ToolCall, read_line
from jobmon.mcp.server import LineReader
from jobmon.mcp.tools import tools_by_name

_MAX_LINE = 4_096
_TOOLS = tools_by_name(can_act=True)
_MAX_ANSWER = 20_000


def mcp_lines(data: bytes) -> None:
    """The lines of a client are the same however they are cut, and each gets one valid answer at most."""
    cut, whole = LineReader(_MAX_LINE), LineReader(_MAX_LINE)
    size = 1 + data[0] if data else 1
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    lines = [*whole.lines(data), *whole.lines(b"\n")]
    assert [line for piece in (*pieces, b"\n") for line in cut.lines(piece)] == lines
    for line in filter(None, lines):
        assert b"\n" not in line
        assert len(line) <= _MAX_LINE
        found = read_line(line, _TOOLS)
        if isinstance(found, ToolCall):
            assert found.name in _TOOLS
            assert set(found.arguments) <= set(_TOOLS[found.name]["inputSchema"]["properties"])
        elif found is not None and not isinstance(found, Cancelled):
            assert json.dumps(found).isascii()
            assert ("error" in found) != ("result" in found)


def mcp_text(data: bytes) -> None:
    """A result for a model has no text of several words outside log_lines, and nothing unprintable."""
    text = data.decode(errors="surrogateescape")
    shown = set_apart({"headline": text, "deep": [{"text": text, text: text}]}, text.split("\n"))
    lines = shown.pop("log_lines", [])
    assert all(line.isprintable() for line in lines)
    assert len(json.dumps([shown, lines])) <= _MAX_ANSWER
    shown.pop("log_lines_are", None)
    assert " " not in json.dumps(shown, separators=(",", ":"))
