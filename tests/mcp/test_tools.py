"""The tools as a model sees them, always: few, short and strict."""

from __future__ import annotations

import json

from jobmon.mcp.tools import tools_by_name
from tests.support.mcp import ACTING, READING


def test_what_a_model_always_has_before_it_is_at_most_1500_characters() -> None:
    texts = (
        (tool["name"], tool["description"], json.dumps(tool["inputSchema"], separators=(",", ":")))
        for tool in READING.values()
    )
    assert sum(len(text) for tool in texts for text in tool) <= 1_500


def test_there_are_at_most_eight_and_all_only_read() -> None:
    assert [*READING] == ["status", "show", "why", "diagnose", "health", "progress", "logs", "history"]
    assert all(tool["annotations"] == {"readOnlyHint": True} for tool in READING.values())


def test_those_that_act_are_marked_as_destructive() -> None:
    assert {"ack", "mute", "note", "submit", "restart"} == ACTING
    tools = tools_by_name(can_act=True)
    assert all(tools[name]["annotations"]["destructiveHint"] for name in ACTING)
    assert not any(tools[name]["annotations"]["readOnlyHint"] for name in ACTING)


def test_no_schema_allows_an_argument_that_it_does_not_name() -> None:
    schemas = [tool["inputSchema"] for tool in tools_by_name(can_act=True).values()]
    assert all(schema["additionalProperties"] is False for schema in schemas)
    assert all(set(schema.get("required", ())) <= set(schema["properties"]) for schema in schemas)


def test_no_tool_runs_a_command_or_ends_a_job_or_reads_a_path() -> None:
    for tool in READING.values():
        assert not {"path", "file", "command", "script"} & set(tool["inputSchema"]["properties"])
    assert not {"cancel", "scancel", "run", "shell", "exec"} & set(tools_by_name(can_act=True))
