"""The tools of `jobmon mcp`. What a model always has before it of those that read: 1,500 characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Json = dict[str, Any]

_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_STATES: Json = {"type": "string", "enum": ["failed", "running", "pending"]}
_PERIOD: Json = {**_TEXT, "description": "7d"}
_CONFIRM: Json = {**_TEXT, "description": "that of the plan"}


def _tool(name: str, description: str, required: tuple[str, ...] = ("job",), /, **properties: Json) -> Json:
    job = {"job": _TEXT} if "job" in required else {}
    schema: Json = {"type": "object", "properties": {**job, **properties}, "additionalProperties": False}
    if required:
        schema["required"] = required
    return {"name": name, "description": description, "inputSchema": schema}


_LISTED = "List watched jobs, 20 at most. job elsewhere: id (12, 12_7), name or latest"
_READING = (
    _tool("status", _LISTED, (), jobs=_TEXTS, state=_STATES, name={**_TEXT, "description": "glob"}),
    _tool("show", "All that is known of a job"),
    _tool("why", "Why it is pending; asks Slurm"),
    _tool("diagnose", "Why it failed, or what is wrong now"),
    _tool("health", "Is it healthy: GPUs, network, errors"),
    _tool("progress", "Step, loss, speed, time left"),
    _tool("logs", "End of its output", lines={"type": "integer", "minimum": 1, "maximum": 200}),
    _tool("history", "Ended runs, or one beside earlier ones", (), job=_TEXT, name=_TEXT, since=_PERIOD),
)
_PLAN = "Submit a batch script. Without confirm: only a plan; show it to the user"
_ACTING = (
    _tool("ack", "Acknowledge what was reported about it: no more reminders"),
    _tool("mute", "Hold back its messages", ("job", "time"), time={**_TEXT, "description": "2h"}),
    _tool("note", "Note something about it", ("job", "text"), text=_TEXT),
    _tool("submit", _PLAN, ("script",), script=_TEXT, arguments=_TEXTS, confirm=_CONFIRM),
    _tool("restart", "Submit its next attempt. Without confirm: only a plan", confirm=_TEXT),
)
ACTIONS = frozenset(tool["name"] for tool in _ACTING)


def tools_by_name(*, can_act: bool) -> dict[str, Json]:
    """Return the tools as ``tools/list`` shows them; those that act only if the user allowed it."""
    shown = {tool["name"]: {**tool, "annotations": {"readOnlyHint": True}} for tool in _READING}
    if can_act:
        hints = {"readOnlyHint": False, "destructiveHint": True}
        shown |= {tool["name"]: {**tool, "annotations": hints} for tool in _ACTING}
    return shown
