"""The tools that submit, which exist only if the user allowed them, and need a confirmed plan."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobmon.api import restart, submit
from jobmon.commands.common import open_context
from jobmon.mcp.log_text import set_apart
from jobmon.views.console import Console
from jobmon.views.restarts import plan_lines
from jobmon_core.app.restarts.by_hand import plan_restart
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon.api import Job

    Json = dict[str, Any]

_NEXT = "nothing was submitted; after the user has agreed, call it again with this confirm"
_MAX_SCRIPT_BYTES = 2**22


def submitted(tool: str, arguments: Mapping[str, Any], *, roots: Sequence[str], key: str) -> Json:
    """Submit what a call asks for, if it confirms the plan; return the job, or the plan; JobmonError."""
    plan, do = _restart(arguments["job"]) if tool == "restart" else _submission(arguments, roots)
    confirm = hashlib.sha256(f"{key} {json.dumps(plan, sort_keys=True)}".encode()).hexdigest()
    if "confirm" not in arguments:
        return set_apart({**plan, "submitted": False, "confirm": confirm}) | {"next": _NEXT}
    if arguments["confirm"] != confirm:
        raise JobmonError(
            "nothing was submitted: this confirms no present plan, since what would be submitted has changed "
            "or a plan was confirmed since; call it without confirm for a new one"
        )
    job = do()
    return {"submitted": True, "job_id": job.job_id, "monitor": job.monitor}


def _submission(arguments: Mapping[str, Any], roots: Sequence[str]) -> tuple[Json, Callable[[], Job]]:
    words: list[str] = arguments.get("arguments", [])
    path, sha256 = _script(arguments["script"], roots)
    plan = {"script": path, "sha256": sha256, "arguments": words, "folder": str(Path.cwd())}
    return plan, partial(submit, path, *words)


def _restart(name: str) -> tuple[Json, Callable[[], Job]]:
    found = plan_restart(open_context(), name)
    lines = [line.strip() for line in plan_lines(found, Console())]
    job = str(found.job.ref)
    plan = {"job_id": job, "attempt": found.number, "folder": found.folder, "plan": lines}
    return plan, partial(restart, job)


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
