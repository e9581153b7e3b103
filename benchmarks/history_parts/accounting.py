"""What Slurm's own programs count: sacct, and sreport by the totals of slurmdbd."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from private_slurm import Cluster

from benchmarks.load_parts.user import BenchmarkUser, wait_until

_FIELDS = "JobID,State,ElapsedRaw,AllocCPUS,AllocTRES"
_BACK_S = 7200  # into an hour that is over
_HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Counted:
    """What runs took."""

    runs: int
    cpu_s: float
    gpu_s: float
    states: Counter[str]


def by_sacct(user: BenchmarkUser, jobs: Iterable[int]) -> Counted:
    """Add up the rows of all runs of these jobs."""
    listed = ",".join(map(str, jobs))
    argv = ["sacct", "-X", "-D", "-n", "-P", "-j", listed, "-o", _FIELDS]
    rows = [line.split("|") for line in user.run(argv).splitlines()]
    started = {job for job, *_ in rows}
    cpu_s = gpu_s = 0.0
    states: Counter[str] = Counter()
    for job, state, elapsed, cpus, tres in rows:
        allocated = dict(each.split("=", 1) for each in tres.split(",") if each)
        cpu_s += float(elapsed) * int(cpus)
        gpu_s += float(elapsed) * int(allocated.get("gres/gpu", 0))
        states[state.split()[0]] += _tasks(job, started)
    return Counted(states.total(), cpu_s, gpu_s, states)


def _tasks(job: str, started: set[str]) -> int:
    """Return for how many tasks a row is: those of an array that never started share one, ``12_[0-3,7]``.

    It may still name some that did start (22.05), which have rows of their own.
    """
    array, bracket, rest = job.partition("[")
    if not bracket:
        return 1
    indices: list[int] = []
    for part in rest.partition("]")[0].partition("%")[0].split(","):
        first, _, last = part.partition("-")
        indices += range(int(first), int(last or first) + 1)
    return sum(f"{array}{index}" not in started for index in indices)


def by_sreport_totals(user: BenchmarkUser, kind: str) -> float:
    """Return the seconds of a kind of resource in the totals that slurmdbd keeps for each hour."""
    lines = _sreport(user, kind, "cluster", "AccountUtilizationByUser").splitlines()
    of_root = [line.split("|") for line in lines if line.split("|")[2]]  # else the sum of an account
    return sum(float(fields[-1]) for fields in of_root)


def _sreport(user: BenchmarkUser, kind: str, *report: str) -> str:
    times = [
        time.strftime("%Y-%m-%dT%H:00:00", time.localtime(time.time() + each)) for each in (-86_400, _HOUR_S)
    ]
    argv = [
        "sreport",
        "-P",
        "-n",
        "-t",
        "Seconds",
        "-T",
        kind,
        *report,
        f"start={times[0]}",
        f"end={times[1]}",
    ]
    return user.run(argv)


def end_the_hour(cluster: Cluster) -> None:
    """Move all that accounting knows back by two hours, and have slurmdbd add it up.

    It does so for hours that are over, when it starts; nothing else makes it do so.
    """
    cluster.stop_accounting()
    name = cluster.name
    moved = {
        "job": ("time_submit", "time_eligible", "time_start", "time_end"),
        "suspend": ("time_start", "time_end"),
        "event": ("time_start", "time_end"),
    }
    statements = [
        f"UPDATE {name}_{table}_table SET {column} = {column} - {_BACK_S} WHERE {column} > {_BACK_S}"  # noqa: S608
        for table, columns in moved.items()
        for column in columns
    ]
    statements += [
        f"DELETE FROM {name}_{table}_table"  # noqa: S608 - as above
        for table in ("last_ran", "usage_hour", "assoc_usage_hour")
    ]
    socket = cluster.folder / "database" / "socket"
    _sql(socket, "; ".join(statements))
    cluster.start_accounting()
    count = f"SELECT count(*) FROM {name}_assoc_usage_hour_table"  # noqa: S608
    wait_until(lambda: int(_sql(socket, count)) > 0, "slurmdbd adds up the hours")


def _sql(socket: Path, statements: str) -> str:
    argv = [
        "mariadb",
        "--no-defaults",
        f"--socket={socket}",
        "-u",
        "root",
        "-N",
        "-B",
        "slurm",
        "-e",
        statements,
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
