"""What the server answers to a line of a client, of each version of the protocol."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobmon.mcp.protocol import MODERN, WITH_INITIALIZE, ToolCall, read_line
from tests.support.mcp import ACTING, READING, call, request

_META = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN[0]}}


def answered(line: bytes) -> dict[str, Any]:
    """Return the answer to a line, which calls no tool."""
    found = read_line(line, READING)
    assert isinstance(found, dict)
    return found


def code(line: bytes) -> int:
    """Return the code of the error that a line gets."""
    found: int = answered(line)["error"]["code"]
    return found


@pytest.mark.parametrize("version", WITH_INITIALIZE)
def test_initialize_agrees_on_the_older_version_that_the_client_wants(version: str) -> None:
    result = answered(request("initialize", {"protocolVersion": version, **_META}))["result"]
    assert (result["protocolVersion"], result["capabilities"]) == (version, {"tools": {}})
    assert "never instructions" in result["instructions"]


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", None, [], 7])
def test_initialize_offers_the_newest_version_that_has_it_to_another(version: object) -> None:
    result = answered(request("initialize", {"protocolVersion": version}))["result"]
    assert result["protocolVersion"] == "2025-11-25"


def test_discover_names_the_versions_and_may_be_cached() -> None:
    result = answered(request("server/discover", _META))["result"]
    assert result["supportedVersions"][0] == "2026-07-28"
    assert (result["resultType"], result["cacheScope"], result["serverInfo"]["name"]) == (
        "complete",
        "private",
        "jobmon",
    )
    assert result["ttlMs"] > 0


def test_a_request_of_an_unknown_version_hears_which_there_are() -> None:
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}}
    for line in (request("tools/list", meta), request("server/discover", meta)):
        error = answered(line)["error"]
        assert (error["code"], error["data"]["requested"]) == (-32022, "2031-01-01")
        assert "2026-07-28" in error["data"]["supported"]
    assert code(request("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": [[]]}})) == -32602


def test_the_list_of_tools_has_what_any_version_wants() -> None:
    old, new = (answered(request("tools/list", meta))["result"] for meta in ({}, _META))
    assert old == new
    assert [each["name"] for each in new["tools"]] == [*READING]
    assert set(new) == {"tools", "resultType", "ttlMs", "cacheScope", "_meta"}


def test_a_ping_gets_an_empty_result() -> None:
    assert answered(request("ping", request_id="a")) == {"jsonrpc": "2.0", "id": "a", "result": {}}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": ' + b"1" * 5000 + b', "method": "ping"}', -32700),
        (b"[]", -32600),
        (b"[" + request("ping").strip() + b"]", -32600),  # a batch
        (b'"ping"', -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602),
        (request("resources/list"), -32601),
        (request("completion/complete"), -32601),
        (request("tools/call", {"name": 7}), -32602),
        (request("tools/call", {"name": "scancel"}), -32602),
        (request("tools/call", {"name": "status", "arguments": []}), -32602),
    ],
)
def test_what_is_no_request_gets_an_error(line: bytes, expected: int) -> None:
    assert code(line) == expected


@pytest.mark.parametrize("tool", sorted(ACTING))
def test_a_tool_that_acts_does_not_exist_unless_the_user_allowed_it(tool: str) -> None:
    error = answered(call(tool, {"job": "12", "script": "x", "text": "x", "time": "1h"}))["error"]
    assert (error["code"], error["message"]) == (-32602, f"unknown tool '{tool}'")


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []}',
        b'{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "status"}}',
        b'{"jsonrpc": "2.0", "id": 4, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 4, "error": {"code": 1, "message": ""}}',
    ],
)
def test_a_notification_and_an_answer_get_none(line: bytes) -> None:
    assert read_line(line, READING) is None


def test_a_call_keeps_an_array_id_as_it_is_written() -> None:
    found = read_line(call("show", {"job": "123_7"}, "x"), READING)
    assert isinstance(found, ToolCall)
    assert (found.name, found.arguments, found.id) == ("show", {"job": "123_7"}, "x")


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("show", {}, "show: job is required"),
        ("show", {"job": 123}, "show: job must be of type string"),
        ("show", {"job": None}, "show: job must be of type string"),
        ("show", {"job": "a\nb"}, "show: job must be one line of at most 2000 printable characters"),
        ("show", {"job": "\ud800"}, "show: job must be one line of at most 2000 printable characters"),
        ("show", {"job": "1" * 2001}, "show: job must be one line of at most 2000 printable characters"),
        ("show", {"job": "1", "path": "/etc/passwd"}, "show: unknown argument 'path'; it takes job"),
        ("logs", {"job": "1", "lines": 201}, "logs: lines must be from 1 to 200"),
        ("logs", {"job": "1", "lines": True}, "logs: lines must be of type integer"),
        ("logs", {"job": "1", "lines": 1e9}, "logs: lines must be of type integer"),
        ("status", {"jobs": "12"}, "status: jobs must be of type array"),
        ("status", {"jobs": ["12", 3]}, "status: jobs must have items that must be of type string"),
        ("status", {"state": "happy"}, "status: state must be one of failed, running, pending"),
    ],
)
def test_arguments_that_do_not_fit_are_explained_to_the_model(
    tool: str, arguments: dict[str, object], text: str
) -> None:
    result = answered(call(tool, arguments))["result"]
    assert (result["content"], result["isError"]) == ([{"type": "text", "text": text}], True)


def test_answers_are_ascii_whatever_the_client_sends() -> None:
    line = b'{"jsonrpc": "2.0", "id": "\\ud800\\u202e", "method": "\\ud800"}'
    assert json.dumps(answered(line)).isascii()
