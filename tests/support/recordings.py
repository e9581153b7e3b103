"""What a real Slurm answered, as `tests/recordings/record.py` wrote it down."""

from __future__ import annotations

import json
from pathlib import Path

from jobmon_core.system.runner import Ran

_FOLDER = Path(__file__).parents[1] / "recordings" / "slurm-22.05"


def recorded(name: str) -> Ran:
    """One answer."""
    told = json.loads((_FOLDER / f"{name}.json").read_text())
    return Ran(tuple(told["argv"]), told["exit_code"], told["stdout"], told["stderr"])


def job_id(name: str) -> int:
    """The id of a recorded job."""
    jobs: dict[str, int] = {}
    for file in _FOLDER.glob("jobs*.json"):
        jobs |= json.loads(file.read_text())
    return jobs[name]
