"""Clients of the official SDK, of both major versions, use every tool of `jobmon mcp`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.many_jobs import fill
from tests.support.mcp import ACTING, READING
from tests.support.mcp_clients import CLIENTS, install_client, use_tools

_WITHOUT_SLURM = {"PATH": "/nonexistent"}  # its programs wait a minute for a configuration that is missing
_VERSIONS = {"1.x": "2025-11-25", "auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@pytest.fixture(params=CLIENTS)
def mode(request: pytest.FixtureRequest) -> str:
    """A way to connect."""
    chosen = str(request.param)
    if why := install_client(chosen):
        pytest.skip(f"there is no client to test with: {why}")
    return chosen


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with eight jobs and two that ended."""
    return fill(tmp_path / "home", 8, ended=2).home.root


def test_it_lists_and_calls_every_tool_that_reads(mode: str, home: Path) -> None:
    calls = [(tool, {} if tool in ("status", "history") else {"job": "8123"}) for tool in READING]
    got = use_tools(mode, home, calls, environment=_WITHOUT_SLURM)
    assert got["version"] == _VERSIONS[mode]
    assert [tool["name"] for tool in got["tools"]] == [*READING]
    assert all(tool["annotations"]["readOnlyHint"] for tool in got["tools"])
    results = dict(zip(READING, got["results"], strict=True))
    for tool in READING.keys() - {"why"}:  # that needs Slurm
        assert not results[tool].get("isError"), (tool, results[tool])
        assert results[tool]["structuredContent"], tool
    assert "8123" in {job["job_id"] for job in results["status"]["structuredContent"]["jobs"]}
    assert results["logs"]["structuredContent"]["log_lines"][-1] == "step 299 loss 0.0133"


def test_it_gets_errors_of_tools_as_results(mode: str, home: Path) -> None:
    calls: list[tuple[str, dict[str, object]]] = [
        ("show", {"job": "999"}),
        ("show", {}),
        ("logs", {"job": "8123", "lines": 0}),
    ]
    got = use_tools(mode, home, calls, environment=_WITHOUT_SLURM)
    assert all(result["isError"] for result in got["results"])
    texts = [result["content"][0]["text"] for result in got["results"]]
    assert "no record of job 999" in texts[0]
    assert texts[1:] == ["show: job is required", "logs: lines must be from 1 to 200"]


def test_it_calls_every_tool_that_acts_if_the_user_allowed_it(mode: str, home: Path, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\n", encoding="utf-8")
    given: dict[str, dict[str, object]] = {
        "ack": {"job": "8123"},
        "mute": {"job": "8123", "time": "2h"},
        "note": {"job": "8123", "text": "what helped"},
        "submit": {"script": str(script)},
        "restart": {"job": "8123"},
    }
    options = ("--allow-actions", "--root", str(tmp_path))
    got = use_tools(mode, home, [*given.items()], *options, environment=_WITHOUT_SLURM)
    assert {tool["name"] for tool in got["tools"]} == READING.keys() | ACTING
    acted = dict(zip(given, got["results"], strict=True))
    assert all(not acted[tool].get("isError") for tool in ("ack", "mute", "note", "submit")), acted
    assert acted["submit"]["structuredContent"]["submitted"] is False
    assert acted["restart"]["isError"] is True  # it runs
