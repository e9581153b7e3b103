"""What Slurm was asked: requests as slurmctld counts them, and runs of sacct as they pass by."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^\s+(\S+)\s+\(\s*(\d+)\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)", re.MULTILINE)
_BY_USER = "Remote Procedure Call statistics by user"
OWN = "REQUEST_STATS_INFO"  # what asking costs
# every question about jobs that comes from squeue and scontrol
LISTINGS = ("REQUEST_JOB_INFO", "REQUEST_JOB_USER_INFO", "REQUEST_JOB_STATE")
RECORD = "REQUEST_JOB_INFO_SINGLE"


@dataclass(frozen=True, slots=True)
class Served:
    """Requests that slurmctld served, and the time that it took, in microseconds, by kind."""

    count: Counter[str]
    took_us: Counter[str]
    users: Counter[int]  # requests by user number

    def since(self, before: Served) -> Served:
        """Return what came after ``before``."""
        return Served(
            self.count - before.count,
            self.took_us - before.took_us,
            self.users - before.users,
        )

    @property
    def listings(self) -> int:
        """Requests for the jobs of a user, or of all users."""
        return sum(self.count[kind] for kind in LISTINGS)

    def mean_us(self, kind: str) -> float:
        """Return what one request of a kind takes in slurmctld, in microseconds."""
        return self.took_us[kind] / max(1, self.count[kind])


def served() -> Served:
    """Ask slurmctld what it has served so far."""
    text = subprocess.run(["sdiag"], capture_output=True, text=True, check=True).stdout
    kinds, _, users = text.partition(_BY_USER)
    lines = _LINE.findall(kinds)
    return Served(
        Counter({kind: int(count) for kind, _, count, _ in lines}),
        Counter({kind: int(took_us) for kind, _, _, took_us in lines}),
        Counter({int(uid): int(count) for _, uid, count, _ in _LINE.findall(users)}),
    )


@dataclass(frozen=True, slots=True)
class CountedSacct:
    """A ``sacct`` that stands before the real one on ``PATH`` and notes each run."""

    folder: Path

    def install(self) -> str:
        """Write it; return the ``PATH`` that finds it first."""
        real = shutil.which("sacct")
        if real is None:
            raise SystemExit("no sacct on PATH: run this in dev/with-slurm")
        self.folder.mkdir()
        program = self.folder / "sacct"
        program.write_text(
            f'#!/bin/sh\necho "$*" >> "{self.folder}/runs"\nexec "{real}" "$@"\n', encoding="utf-8"
        )
        program.chmod(0o755)
        return str(self.folder)

    @property
    def runs(self) -> int:
        """How often it was run."""
        try:
            return len((self.folder / "runs").read_text(encoding="utf-8").splitlines())
        except FileNotFoundError:
            return 0
