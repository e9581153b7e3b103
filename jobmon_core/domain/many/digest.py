"""What the runs of a day or a week took, what went wrong, and what was forgotten, in a few figures."""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.job.history.totals import RunTotals
from jobmon_core.domain.many.autostart.command import RegularCommand


class Digest(NamedTuple):
    """The runs that ended in a time, and what was forgotten."""

    since_s: float  # Unix seconds
    until_s: float
    totals: tuple[RunTotals, ...]  # by currency; empty if no run ended
    doubtful: int = 0  # of the successes
    most_lost: RunTotals | None = None  # by cause: the one that most was lost to
    most_idle: RunTotals | None = None  # by name: the one whose GPUs were idle most
    slower: tuple[str, ...] = ()  # a sentence about each name whose latest run was slower than usual
    suspects: tuple[str, ...] = ()  # a sentence about each node that kills runs
    failures: tuple[str, ...] = ()  # jobs that failed in this time, and that nobody acknowledged
    idle_jobs: tuple[str, ...] = ()  # jobs that run and leave what they hold idle


def digest_command(channel: str, *, weekly: bool) -> RegularCommand:
    """Return the command that an installed digest runs: each hour of a day, since a machine may be down."""
    period = "--weekly" if weekly else "--daily"
    return RegularCommand(
        "jobmon digest",
        ("digest", period, "--unattended", "--to", channel),
        "3 7-22 * * *",
        "7..22:03",
        "send what all runs took",
        marker_suffix="-digest",
    )
