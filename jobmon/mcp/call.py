"""One call of a tool, in a process of its own: runs the command of that name; returns what the model gets."""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any, NamedTuple

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
_MAX_CHARS = 2_000  # of `status`
_SIZES = ((20, 24), (20, 16), (20, 8), (12, 8), (5, 8))  # jobs and characters of names: the first that fits
_STATE_CHARS, _NOTE_CHARS = 60, 200
_SILENT = ("dead", "stale")  # monitors


class Said(NamedTuple):
    """What a command printed."""

    exit_code: int
    out: str
    notes: str  # on stderr, without the prefix


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
            said = command(tool, "--", *words)
            shown["done"] = "; ".join(filter(None, (said.out.strip(), said.notes)))
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
        words = [f"--{name}={arguments[name]}" for name in ("name", "since") if name in arguments]
        if "job" in arguments:
            words += ["--", _job(tool, arguments["job"])]
        return set_apart(_json(command("history", "--json", f"-n{_RUNS}", *words)))
    job = _job(tool, arguments["job"])
    if tool == "logs":
        said = command("logs", "--lines", str(arguments.get("lines", _LINES)), "--", job)
        return set_apart({"job_id": job, "notes": said.notes}, said.out.splitlines())
    return set_apart(_json(command(tool, "--json", "--", job)))


def _json(said: Said) -> Json:
    """Return the JSON object that a command printed; a list as one, since a result is an object."""
    found = json.loads(said.out)
    shown: Json = {"jobs": found} if isinstance(found, list) else found
    if said.notes:
        shown["notes"] = said.notes[:_NOTE_CHARS]
    return shown


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
    """Return the short form of `jobmon status --json`."""
    words = [f"--{each}" for each in ("failed", "running", "pending") if each == arguments.get("state")]
    words += [f"--name={arguments.get('name', '')}", "--", *arguments.get("jobs", ())]
    known = _json(command("status", "--json", *words))
    jobs: list[Json] = known["jobs"]
    ranked = sorted(range(len(jobs)), key=lambda place: (_rank(jobs[place]), -place))
    shown: Json = {}
    for most, chars in _SIZES:
        chosen = sorted(ranked[:most])
        found = known | {"jobs": [_short(jobs[place], chars) for place in chosen]}
        if len(chosen) < len(jobs):
            found["left_out"] = len(jobs) - len(chosen)
        shown = set_apart(found)
        if len(json.dumps(shown, separators=(",", ":"))) <= _MAX_CHARS:
            break
    return shown


def _rank(job: Json) -> int:
    """Return 0 for the jobs to be listed first: those with problems; then active, then failed ones."""
    if job["problems"] or job["monitor"] in _SILENT:
        return 0
    if job["outcome"] is None:
        return 1
    return 3 - (job["outcome"] in ("failure", "unknown") or bool(job["cause"]))


def _short(job: Json, chars: int) -> Json:
    kinds = dict.fromkeys(each["kind"] for each in job["problems"])
    found = {
        "job_id": job["job_id"],
        "state": job["state"][:_STATE_CHARS],
        "outcome": job["outcome"] == "unknown" and "unknown",
        "monitor": job["monitor"] in _SILENT and job["monitor"],
        "name": job["name"][:chars],
        "cause": job["cause"],
        "problems": ", ".join(kinds),
    }
    return {name: text for name, text in found.items() if text}


def captured(run: Callable[[], int]) -> Said:
    """Run something that prints as a command does, and reports its errors so."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        exit_code = run_guarded(run)
    notes = "; ".join(line.strip().removeprefix("jobmon: ") for line in err.getvalue().splitlines())
    return Said(exit_code, out.getvalue(), notes)


def command(name: str, *words: str) -> Said:
    """Run a command; JobmonError if it has no result."""
    from jobmon.cli import run  # what reads the tools does not need it

    said = captured(lambda: run([name, *words]))
    is_empty = said.out.strip() in ("", "[]")
    if is_empty and (said.exit_code or not said.out):
        raise JobmonError(said.notes or f"jobmon {name} ended with exit code {said.exit_code}")
    return said
