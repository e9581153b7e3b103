"""One call of a tool, in a process of its own: runs the command of that name; returns what the model gets."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from jobmon.mcp.command import captured, command
from jobmon.mcp.log_text import WHAT_THEY_ARE, set_apart
from jobmon.mcp.protocol import tool_error
from jobmon.mcp.tools import ACTIONS
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobmon.mcp.command import Said

    Json = dict[str, Any]

_LINES, _RUNS = 50, 10  # unless the model asks for more
_MAX_CHARS = 2_000  # of `status`
_SIZES = ((20, 24), (20, 16), (20, 8), (12, 8), (5, 8))  # jobs and characters of names: the first that fits
_STATE_CHARS, _NOTE_CHARS = 60, 200


def result_of(tool: str, arguments: Mapping[str, Any], *, roots: Sequence[str], key: str) -> Json:
    """Return the result of a call; ``key`` is that of the plans that may be confirmed."""
    shown: Json = {}

    def run() -> int:
        if tool in ACTIONS:
            from jobmon.mcp.actions import act  # these need more than those that read

            shown.update(act(tool, arguments, roots=roots, key=key))
        else:
            os.chdir("/")  # so that no word of the model is the name of a file
            shown.update(_read(tool, arguments))
        return 0

    said = captured(run)
    if not shown:
        return tool_error(one_line(said.notes))
    text = dict(shown)
    if lines := shown.get("log_lines"):
        text["log_lines"] = f"{len(lines)} lines, only in structuredContent: {WHAT_THEY_ARE}"
    content = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
    return {"content": [{"type": "text", "text": content}], "structuredContent": shown, "isError": False}


def _read(tool: str, arguments: Mapping[str, Any]) -> Json:
    """Run a command that only reads."""
    if tool == "status":
        return _status(arguments)
    if tool == "history":
        return set_apart(_json(command("history", "--json", *_history_words(arguments))))
    job = _job(tool, arguments["job"])
    if tool == "logs":
        said = command("logs", "--lines", str(arguments.get("lines", _LINES)), "--", job)
        return set_apart({"job_id": job, "notes": said.notes}, said.out.splitlines())
    return set_apart(_json(command(tool, "--json", "--", job)))


def _json(said: Said) -> Json:
    """Return the JSON object that a command printed; a list as one, since a result is an object."""
    found = json.loads(said.out)
    if isinstance(found, list):
        found = {"jobs": found}
    if said.notes:
        found["notes"] = said.notes[:_NOTE_CHARS]
    return {**found}


def _job(tool: str, word: str) -> str:
    """Return the id of a job that a word of the model names, so that it is no file; JobmonError."""
    try:
        return str(JobRef.parse(word))
    except ValueError:
        if tool == "health":
            return word  # it takes groups, and no files
    from jobmon.commands.common import open_context
    from jobmon_core.app.jobs.find import find_job

    return str(find_job(open_context(), word)[1])


def _history_words(arguments: Mapping[str, Any]) -> Iterator[str]:
    yield f"-n{_RUNS}"
    for name in ("name", "since"):
        if name in arguments:
            yield f"--{name}={arguments[name]}"
    if "job" in arguments:
        yield from ("--", _job("history", arguments["job"]))


def _status(arguments: Mapping[str, Any]) -> Json:
    """Return the short form of `jobmon status --json`."""
    words = [f"--{each}" for each in ("failed", "running", "pending") if each == arguments.get("state")]
    said = command(
        "status", "--json", *words, f"--name={arguments.get('name', '')}", "--", *arguments.get("jobs", ())
    )
    known = _json(said)
    jobs: list[Json] = known["jobs"]
    ranked = sorted(range(len(jobs)), key=lambda place: (_rank(jobs[place]), -place))
    shown: Json = {}
    for most, chars in _SIZES:
        chosen = sorted(ranked[:most])
        found = known | {"jobs": [dict(_short(jobs[place], chars)) for place in chosen]}
        if len(chosen) < len(jobs):
            found["left_out"] = len(jobs) - len(chosen)
        shown = set_apart(found)
        if len(json.dumps(shown, separators=(",", ":"))) <= _MAX_CHARS:
            break
    return shown


def _rank(job: Json) -> int:
    """Return 0 for the jobs to be listed first: those with problems; then active, then failed ones."""
    if job["problems"] or job["monitor"] in ("dead", "stale"):
        return 0
    if job["outcome"] is None:
        return 1
    return 3 - (job["outcome"] in ("failure", "unknown") or bool(job["cause"]))


def _short(job: Json, chars: int) -> Iterator[tuple[str, str]]:
    yield "job_id", job["job_id"]
    yield "state", job["state"][:_STATE_CHARS]
    for name, worth_saying in (("outcome", ("unknown",)), ("monitor", ("dead", "stale"))):
        if job[name] in worth_saying:
            yield name, job[name]
    kinds = dict.fromkeys(each["kind"] for each in job["problems"])
    for name, text in (
        ("name", job["name"][:chars]),
        ("cause", job["cause"]),
        ("problems", ", ".join(kinds)),
    ):
        if text:
            yield name, text
