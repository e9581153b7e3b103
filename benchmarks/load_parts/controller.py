"""Count the requests to Slurm: those that slurmctld served, and the runs of sacct."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_parts.wrapper import install_wrapper

_LINE = re.compile(r"^\s+(\S+)\s+\(\s*(\d+)\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)", re.MULTILINE)
_BY_USER = "Remote Procedure Call statistics by user"
OWN = "REQUEST_STATS_INFO"  # made by sdiag itself
# every request about many jobs that squeue and scontrol make
LISTINGS = ("REQUEST_JOB_INFO", "REQUEST_JOB_USER_INFO", "REQUEST_JOB_STATE")
RECORD = "REQUEST_JOB_INFO_SINGLE"


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests that slurmctld served, and the time in microseconds that they took."""

    by_kind: Counter[str]
    us_by_kind: Counter[str]
    by_uid: Counter[int]

    def since(self, before: RequestCounts) -> RequestCounts:
        """Return the requests after ``before``."""
        return RequestCounts(
            self.by_kind - before.by_kind, self.us_by_kind - before.us_by_kind, self.by_uid - before.by_uid
        )

    @property
    def listings(self) -> int:
        """Requests for the jobs of one user or of all."""
        return sum(self.by_kind[kind] for kind in LISTINGS)

    def mean_us(self, kind: str) -> float:
        """Return the mean time of a request of a kind, in microseconds."""
        return self.us_by_kind[kind] / max(1, self.by_kind[kind])


def request_counts() -> RequestCounts:
    """Return what slurmctld has served so far."""
    text = subprocess.run(["sdiag"], capture_output=True, text=True, check=True).stdout
    kinds, _, users = text.partition(_BY_USER)
    lines = _LINE.findall(kinds)
    return RequestCounts(
        Counter({kind: int(count) for kind, _, count, _ in lines}),
        Counter({kind: int(took_us) for kind, _, _, took_us in lines}),
        Counter({int(uid): int(count) for _, uid, count, _ in _LINE.findall(users)}),
    )


class CountedSacct:
    """A ``sacct`` that records each query; ``folder`` goes to the front of ``PATH``.

    ``sacct --version`` asks no daemon, so it is not counted.
    """

    def __init__(self, folder: Path) -> None:
        """Install it."""
        self.folder = folder
        install_wrapper(
            folder, "sacct", f'[ "$*" = --version ] || echo "$*" >> "{folder}/runs"', 'exec "{real}" "$@"'
        )

    @property
    def runs(self) -> int:
        """How often it was run."""
        log = self.folder / "runs"
        return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
