"""`jobmon mcp` in a process of its own, which is sent whatever a test likes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from jobmon.mcp.tools import tools_by_name

READING = tools_by_name(can_act=False)
ACTING = tools_by_name(can_act=True).keys() - READING.keys()


def request(method: str, params: Mapping[str, object] | None = None, request_id: object = 1) -> bytes:
    """Return the line of a request."""
    asked = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}
    return json.dumps(asked).encode() + b"\n"


def call(tool: str, arguments: Mapping[str, object] | None = None, request_id: object = 1) -> bytes:
    """Return the line that calls a tool."""
    return request("tools/call", {"name": tool, "arguments": arguments or {}}, request_id)


class McpServer:
    """A running server."""

    def __init__(
        self,
        home: Path,
        *options: str,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jobmon", "mcp", *options],
            env={**os.environ, **(environment or {}), "JOBMON_HOME": str(home)},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, *lines: bytes) -> None:
        """Write lines to its stdin."""
        assert self.process.stdin
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.process.communicate()
        found: dict[str, Any] = json.loads(line)
        return found

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool; return its result."""
        self.send(call(tool, arguments))
        result: dict[str, Any] = self.answer()["result"]
        return result

    def shown(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool that must succeed; return what it shows."""
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        found: dict[str, Any] = result["structuredContent"]
        return found

    def refusal(self, tool: str, **arguments: object) -> str:
        """Call a tool that must fail; return the text for the model."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        return str(result["content"][0]["text"])

    def ends_with(self, data: bytes) -> tuple[int, list[dict[str, Any]], str]:
        """Send the last input; return the exit code, the messages and stderr."""
        out, err = self.process.communicate(data, timeout=300)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()
