"""Use case: write a marker, which shows that something is done."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.system.files import write_atomically

if TYPE_CHECKING:
    from jobmon_core.context import Context


def write_marker(ctx: Context, name: str, exit_status: int, note: str = "") -> Path:
    """Write a marker at the path ``name`` in one step, in place of an older one; return its absolute path.

    It is one line of JSON: when, where and by which job it was written, an exit status, and a note.

    Raises:
        StorageFailed: it cannot be written.
    """
    path = Path(name).expanduser().absolute()
    now_s = ctx.clock.now()
    content = {
        "exit_status": exit_status,
        "at_s": int(now_s),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(now_s)),
        "host": os.uname().nodename,
        "job_id": ctx.environment.get("SLURM_JOB_ID", ""),
        "note": note,
    }
    write_atomically(path, f"{json.dumps(content)}\n".encode())
    return path
