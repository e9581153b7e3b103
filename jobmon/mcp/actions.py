"""The tools that act, and exist only if the user allowed them; one that submits needs a confirmed plan."""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobmon.api import restart, submit
from jobmon.commands.common import open_context
from jobmon.mcp.command import command
from jobmon.mcp.log_text import set_apart
from jobmon.views.console import Console
from jobmon.views.restarts import plan_lines
from jobmon_core.app.restarts.by_hand import plan_restart
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = dict[str, Any]

_NEXT = "nothing was submitted; after the user has agreed, call it again with this confirm"
_MAX_SCRIPT_BYTES = 2**22


def act(tool: str, arguments: Mapping[str, Any], *, roots: Sequence[str], key: str) -> Json:
    """Do what a call asks for; return what was done, or the plan; JobmonError."""
    if tool == "submit":
        return _submit(arguments, roots, key)
    if tool == "restart":
        return _restart(arguments, key)
    # one argument after `--`, so that no word is an option
    words = [arguments["job"], *(arguments[name] for name in ("time", "text") if name in arguments)]
    said = command(tool, "--", *words)
    return {"done": "; ".join(filter(None, (said.out.strip(), said.notes)))}


def _submit(arguments: Mapping[str, Any], roots: Sequence[str], key: str) -> Json:
    words: list[str] = arguments.get("arguments", [])
    path, sha256 = _script(arguments["script"], roots)
    folder = str(Path.cwd())
    plan = {"script": path, "sha256": sha256, "arguments": words, "folder": folder}
    if refused := _unconfirmed(plan, arguments, key):
        return refused
    job = submit(path, *words)
    return {"submitted": True, "job_id": job.job_id, "monitor": job.monitor}


def _restart(arguments: Mapping[str, Any], key: str) -> Json:
    found = plan_restart(open_context(), arguments["job"])
    lines = [line.strip() for line in plan_lines(found, Console())]
    plan = {"job_id": str(found.job.ref), "attempt": found.number, "folder": found.folder, "plan": lines}
    if refused := _unconfirmed(plan, arguments, key):
        return refused
    job = restart(str(found.job.ref))
    return {"submitted": True, "job_id": job.job_id, "monitor": job.monitor}


def _script(word: str, roots: Sequence[str]) -> tuple[str, str]:
    """Return the path of a script below one of the roots, without links, and the SHA-256 of the file."""
    try:
        path = Path(word).resolve(strict=True)
        if not any(path.is_relative_to(Path(root).resolve()) for root in roots):
            raise JobmonError(f"{word}: only scripts below {' or '.join(roots)} may be submitted")
        if not path.is_file() or path.stat().st_size > _MAX_SCRIPT_BYTES:
            raise JobmonError(f"{word}: not a batch script")
        return str(path), hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise JobmonError(f"{word}: {error.strerror}") from error


def _unconfirmed(plan: Json, arguments: Mapping[str, Any], key: str) -> Json | None:
    """Return the plan, with what confirms it; None if the call confirms just this plan."""
    shown = json.dumps(plan, sort_keys=True)
    confirm = hmac.new(key.encode(), shown.encode(), hashlib.sha256).hexdigest()
    if "confirm" not in arguments:
        return set_apart({**plan, "submitted": False, "confirm": confirm}) | {"next": _NEXT}
    if not hmac.compare_digest(arguments["confirm"].encode(), confirm.encode()):
        raise JobmonError(
            "nothing was submitted: this confirms no present plan, since what would be submitted has changed "
            "or a plan was confirmed since; call it without confirm for a new one"
        )
    return None
