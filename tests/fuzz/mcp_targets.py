"""What holds for whatever a client sends to `jobmon mcp`, and whatever a command prints."""

from __future__ import annotations

import json
from io import BytesIO

from jobmon.mcp.log_text import set_apart
from jobmon.mcp.protocol import ToolCall, read_line
from jobmon.mcp.server import lines_of
from jobmon.mcp.tools import tools_by_name

_MAX_LINE = 4_096
_TOOLS = tools_by_name(can_act=True)
_MAX_ANSWER = 20_000


def mcp_lines(data: bytes) -> None:
    """Each line of a client gets one valid answer at most, and one that is too long costs only itself."""
    lines = [*lines_of(BytesIO(data), _MAX_LINE)]
    stripped = [line.strip() for line in data.split(b"\n") if line.strip()]
    assert [line for line in lines if len(line) <= _MAX_LINE] == [each for each in stripped if each in lines]
    for line in lines:
        assert b"\n" not in line
        assert len(line) <= _MAX_LINE + 1
        found = read_line(line, _TOOLS)
        if isinstance(found, ToolCall):
            assert found.name in _TOOLS
            assert set(found.arguments) <= set(_TOOLS[found.name]["inputSchema"]["properties"])
        elif found is not None:
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
