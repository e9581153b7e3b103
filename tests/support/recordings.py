"""Answers of a real Slurm, recorded by `tests/recordings/record.py` on two versions, or on three."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.system.runner import Ran

_FOLDER = Path(__file__).parents[1] / "recordings"
_BESIDE = Path(__file__).parents[3] / "shared" / "data" / "slurm26"  # data that is no part of the project


class Recordings:
    """The answers of one version of Slurm."""

    def __init__(self, version: str, folder: Path = _FOLDER) -> None:
        """Read nothing yet; ``version`` is a year and a month, e.g. 25.11."""
        self.version = version
        self.folder = folder / f"slurm-{version}"

    def __repr__(self) -> str:
        return self.version

    def answer(self, name: str) -> Ran:
        """Return one recorded answer."""
        answer = json.loads((self.folder / f"{name}.json").read_text())
        return Ran(tuple(answer["argv"]), answer["exit_code"], answer["stdout"], answer["stderr"])

    def job_id(self, name: str) -> int:
        """Return the id of a recorded job."""
        jobs: dict[str, int] = {}
        for file in self.folder.glob("jobs*.json"):
            jobs |= json.loads(file.read_text())
        return jobs[name]


OLD, NEW = Recordings("22.05"), Recordings("25.11")
VERSIONS = (OLD, NEW)
_LATEST = Recordings("26.05", _BESIDE)
_is_absent = pytest.mark.skipif(
    not _LATEST.folder.exists(), reason="the answers of 26.05 are not beside the checkout"
)
EACH_VERSION = (*VERSIONS, pytest.param(_LATEST, marks=_is_absent))  # for `parametrize`
SCENARIOS = Recordings("25.11-scenarios")  # rare endings, recorded one by one on 25.11.7


def recorded(name: str) -> Ran:
    """Return one answer of 22.05."""
    return OLD.answer(name)


def job_id(name: str) -> int:
    """Return the id of a job recorded on 22.05."""
    return OLD.job_id(name)
