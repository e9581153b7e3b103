"""Answers of a real Slurm, recorded by `tests/recordings/record.py`."""

from __future__ import annotations

import json
from pathlib import Path

from jobmon_core.system.runner import Ran

_FOLDER = Path(__file__).parents[1] / "recordings" / "slurm-22.05"


def recorded(name: str) -> Ran:
    """Return one recorded answer."""
    answer = json.loads((_FOLDER / f"{name}.json").read_text())
    return Ran(tuple(answer["argv"]), answer["exit_code"], answer["stdout"], answer["stderr"])


def job_id(name: str) -> int:
    """Return the id of a recorded job."""
    jobs: dict[str, int] = {}
    for file in _FOLDER.glob("jobs*.json"):
        jobs |= json.loads(file.read_text())
    return jobs[name]
