"""Measure what a look at a host by ssh costs: ten watched jobs, eight of them with a log that grows.

It starts a real sshd on loopback under a new user, which only root can do::

    .venv/bin/python benchmarks/ssh_looks.py

A look is made over the shared connection, and over a new one, as after a pause. ``ssh box true`` in both
ways shows how much of that is ssh itself; the rest is the script on the host and the reading of its answer.

Bounds: one call of ssh per look, and at most one second, a thirtieth of the default interval, for the median
look over the shared connection. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.options import options_parser
from jobmon_core.domain.node.hosts.settings import Host
from jobmon_core.scheduler.ssh.connection import command, control_folder
from tests.support.ssh_jobs import WAIT, Jobs, tmux
from tests.support.ssh_server import Box, running_box, unusable
from tests.support.waiting import eventually

JOBS = 10
MAX_LOOK_MS = 1000.0
_GROWS = f"i=0; {WAIT.replace('do', 'do i=$((i+1)); echo step $i/100000 loss=0.25;', 1)}"


def main() -> int:
    """Print the figures; return 0 if the bounds hold."""
    options = options_parser(__doc__, looks=(50, "looks to measure in each way")).parse_args()
    if problem := unusable():
        print(problem, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="jobmon-ssh-") as folder, host(Path(folder)) as box:
        jobs = ten_jobs(box)
        calls = box.calls
        shared_ms = times_ms(lambda: look(jobs), options.looks)
        calls_per_look = (box.calls - calls) / options.looks
        new_ms = times_ms(lambda: look(jobs), options.looks, box.close_masters)
        ssh_ms, ssh_new_ms = (
            times_ms(ssh_true, options.looks),
            times_ms(ssh_true, options.looks, box.close_masters),
        )
    figures = [
        Figure("ssh calls per look at ten jobs", calls_per_look, at_most=1),
        *spread("look over the shared connection", shared_ms, MAX_LOOK_MS),
        *spread("look over a new connection", new_ms),
        *spread("`ssh box true` over the shared connection", ssh_ms),
        *spread("`ssh box true` over a new connection", ssh_new_ms),
    ]
    return report(figures, as_json=options.json)


@contextmanager
def host(folder: Path) -> Iterator[Box]:
    """Yield a host that ``ssh box`` reaches, and have jobmon keep its files in the folder."""
    folder.chmod(0o755)
    (folder / "box").mkdir(mode=0o755)
    with running_box(folder / "box") as box:
        os.environ.update(box.environment({**os.environ, "JOBMON_HOME": str(folder / "jobmon")}))
        yield box


def ten_jobs(box: Box) -> Jobs:
    """Start and watch ten jobs, each found in its own way; return them."""
    jobs = Jobs(box)
    for _ in range(4):
        jobs.run(_GROWS)
    for number in range(2):
        tmux(box, f"session{number}", f"sh -c {WAIT!r}")
        jobs.watch(f"tmux:session{number}", f"marker:DONE{number}")
    for number in range(4):
        pid = box.detached(f"exec > log{number}; {_GROWS}")
        eventually((box.home / f"log{number}").exists)
        jobs.watch(f"pid:{pid}")
    look(jobs)
    return jobs


def look(jobs: Jobs) -> None:
    """Look at the host once; all jobs must run."""
    states = [row.state for row in jobs.rows().values()]
    if states != ["RUNNING"] * JOBS:
        raise RuntimeError(f"the looks are not at {JOBS} running jobs, but at {states}")


def ssh_true() -> None:
    """Run a program that does nothing on the host, as a look does."""
    subprocess.run(command(Host("box", "box"), control_folder(os.environ)), input=b"true", check=True)


def times_ms(what: Callable[[], None], times: int, before: Callable[[], None] = lambda: None) -> list[float]:
    """Return how long something takes, each time after ``before``."""
    found = []
    for _ in range(times):
        before()
        began_s = time.perf_counter()
        what()
        found.append((time.perf_counter() - began_s) * 1000)
    return found


def spread(name: str, times: list[float], median_at_most: float | None = None) -> Iterator[Figure]:
    """Yield the median and the longest of some times in milliseconds."""
    yield Figure(f"{name}: median ms", statistics.median(times), at_most=median_at_most)
    yield Figure(f"{name}: longest ms", max(times))


if __name__ == "__main__":
    sys.exit(main())
