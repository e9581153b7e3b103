"""Clients of the official SDK of the Model Context Protocol, in environments of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_CHECKOUT = Path(__file__).resolve().parents[2]
_PROGRAM = _CHECKOUT / "tests" / "real" / "programs" / "mcp" / "client.py"
_INSTALL_S, _ANSWER_S = 900.0, 600.0
# mode of the client -> the name of its environment
CLIENTS = {"1.x": "mcp-1", "auto": "mcp", "legacy": "mcp", "2026-07-28": "mcp"}


def install_client(mode: str) -> str:
    """Install the SDK of a client, once for the checkout; return why that is not possible, else nothing."""
    done = subprocess.run(
        [_CHECKOUT / "dev" / f"setup-{CLIENTS[mode]}"],
        capture_output=True,
        text=True,
        timeout=_INSTALL_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def use_tools(
    mode: str,
    home: Path,
    calls: Sequence[tuple[str, Mapping[str, object]]],
    *options: str,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Let a client list the tools of `jobmon mcp` and call some; return version, tools and results."""
    order = {
        "command": [sys.executable, "-m", "jobmon", "mcp", *options],
        "environment": {**(environment or {}), "JOBMON_HOME": str(home)},
        "calls": calls,
    }
    done = subprocess.run(
        [_CHECKOUT / f".venv-{CLIENTS[mode]}" / "bin" / "python", _PROGRAM, mode],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        timeout=_ANSWER_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found
