"""One call of a tool, in a process of its own: runs the command of that name; returns what the model gets."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

from jobmon.errors import run_guarded
from jobmon.mcp.log_text import WHAT_THEY_ARE, set_apart
from jobmon.mcp.protocol import tool_error
from jobmon.mcp.tools import ACTIONS
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Json = dict[str, Any]

_LINES, _RUNS = 50, 10  # unless the model asks for more
_MAX_CHARS, _MAX_JOBS = 2_000, 20  # of `status`
_NAME_CHARS, _STATE_CHARS, _NOTE_CHARS = 16, 60, 200
_SILENT = ("dead", "stale")  # monitors


def result_of(tool: str, arguments: Mapping[str, Any], *, roots: Sequence[str], key: str) -> Json:
    """Return the result of a call; ``key`` is that of the plans that may be confirmed."""
    shown: Json = {}

    def run() -> int:
        if tool in ("submit", "restart"):
            from jobmon.mcp.actions import submitted  # these need more than the others

            shown.update(submitted(tool, arguments, roots=roots, key=key))
        elif tool in ACTIONS:
            # one argument after `--`, so that no word is an option
            words = (arguments[name] for name in ("job", "time", "text") if name in arguments)
            shown["done"] = "; ".join(filter(None, map(str.strip, command(tool, "--", *words))))
        else:
            os.chdir("/")  # so that no word of the model is the name of a file
            shown.update(_read(tool, arguments))
        return 0

    _, _, notes = _printed(run)
    if not shown:
        return tool_error(one_line(notes))
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
        words = [f"--{name}={arguments[name]}" for name in ("name", "since") if name in arguments]
        if "job" in arguments:
            words += ["--", _job(tool, arguments["job"])]
        return set_apart(_json("history", f"-n{_RUNS}", *words))
    job = _job(tool, arguments["job"])
    if tool == "logs":
        out, notes = command("logs", "--lines", str(arguments.get("lines", _LINES)), "--", job)
        return set_apart({"job_id": job, "notes": notes}, out.splitlines())
    return set_apart(_json(tool, "--", job))


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


def _status(arguments: Mapping[str, Any]) -> Json:
    """Return the short form of `jobmon status --json`, of as many jobs as have room."""
    words = [f"--{each}" for each in ("failed", "running", "pending") if each == arguments.get("state")]
    known = _json("status", *words, f"--name={arguments.get('name', '')}", "--", *arguments.get("jobs", ()))
    jobs: list[Json] = known["jobs"]
    ranked = sorted(range(len(jobs)), key=lambda place: (_rank(jobs[place]), -place))
    most = min(len(jobs), _MAX_JOBS)
    while True:
        found = known | {"jobs": [_short(jobs[place]) for place in sorted(ranked[:most])]}
        if most < len(jobs):
            found["left_out"] = len(jobs) - most
        shown = set_apart(found)
        if not most or len(json.dumps(shown, separators=(",", ":"))) <= _MAX_CHARS:
            return shown
        most -= 1


def _rank(job: Json) -> int:
    """Return 0 for the jobs to be listed first: those with problems; then active, then failed ones."""
    if job["problems"] or job["monitor"] in _SILENT:
        return 0
    if job["outcome"] is None:
        return 1
    return 3 - (job["outcome"] in ("failure", "unknown") or bool(job["cause"]))


def _short(job: Json) -> Json:
    found = {
        "job_id": job["job_id"],
        "state": job["state"][:_STATE_CHARS],
        "outcome": job["outcome"] == "unknown" and "unknown",
        "monitor": job["monitor"] in _SILENT and job["monitor"],
        "name": job["name"][:_NAME_CHARS],
        "cause": job["cause"],
        "problems": ", ".join(dict.fromkeys(each["kind"] for each in job["problems"])),
    }
    return {name: text for name, text in found.items() if text}


def _json(name: str, *words: str) -> Json:
    """Return the JSON object that a command prints; a list as one, since a result is an object."""
    out, notes = command(name, "--json", *words)
    found = json.loads(out)
    shown: Json = {"jobs": found} if isinstance(found, list) else found
    if notes:
        shown["notes"] = notes[:_NOTE_CHARS]
    return shown


def command(name: str, *words: str) -> tuple[str, str]:
    """Run a command; return what it prints, and its notes; JobmonError if it has no result."""
    from jobmon.cli import run  # what reads the tools does not need it

    exit_code, text, notes = _printed(lambda: run([name, *words]))
    if text.strip() in ("", "[]") and (exit_code or not text):
        raise JobmonError(notes or f"jobmon {name} ended with exit code {exit_code}")
    return text, notes


def _printed(run: Callable[[], int]) -> tuple[int, str, str]:
    """Run something that prints as a command does; return exit code, output, and notes or the error."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        exit_code = run_guarded(run)
    notes = "; ".join(line.strip().removeprefix("jobmon: ") for line in err.getvalue().splitlines())
    return exit_code, out.getvalue(), notes
