"""What jobmon costs: the time that it adds to sbatch, and the memory of an idle monitor.

Run it on a real Slurm, here a private one::

    dev/with-slurm .venv/bin/python benchmarks/submit.py

Each pair is one bare ``sbatch`` and one ``jobmon submit`` of the same held job, in turn; the monitor of
each submission is settled and gone before the next pair, so that the pairs do not disturb each other.
Aims: less than 120 ms more than sbatch, less than 12 MB for an idle monitor.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabulate import tabulate

from jobmon_core.context import Context
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import job_status

JOB = ("--hold", "--job-name=benchmark", "--output=/dev/null", "--wrap=true")
TIME_AIM_S, MEMORY_AIM_KB = 0.120, 12 * 1024
MONITORS = 8  # alive at once where the memory of several is measured


def main() -> int:
    """Print the figures; return 0 if both aims were met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30, help="pairs of submissions (default: 30)")
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobmon-benchmark-") as folder:
        bench = Bench(Path(folder))
        times = [bench.pair() for _ in range(options.pairs + 1)][1:]  # the first one warms the caches
        with bench.monitors(1) as pids:
            alone_kb = [pss_kb(pid) for pid in pids]
        with bench.monitors(MONITORS) as pids:
            together_kb = [pss_kb(pid) for pid in pids]
    figures = figures_of(times, alone_kb, together_kb)
    print(json.dumps(figures, indent=2) if options.json else table(figures))
    met = figures["extra_s"]["median"] < TIME_AIM_S and figures["pss_kb_alone"]["median"] < MEMORY_AIM_KB
    print(f"aims {'met' if met else 'NOT MET'}", file=sys.stderr)
    return 0 if met else 1


class Bench:
    """A user who submits, with a home of jobmon of its own."""

    def __init__(self, folder: Path) -> None:
        """Work in ``folder``."""
        self.folder = folder
        self.environment = {**os.environ, "JOBMON_HOME": str(folder / "home")}
        self.ctx = Context.open(self.environment)

    def pair(self) -> tuple[float, float]:
        """Submit barely and through jobmon; return both wall times in seconds."""
        bare_s, bare = self._timed(["sbatch", *JOB])
        jobmon_s, watched = self._timed([str(Path(sys.executable).with_name("jobmon")), "submit", *JOB])
        os.kill(self._settled(watched), signal.SIGKILL)
        subprocess.run(["scancel", str(bare), str(watched)], check=True)
        return bare_s, jobmon_s

    @contextmanager
    def monitors(self, count: int) -> Iterator[list[int]]:
        """Have so many idle monitors, by their pids; they are gone afterwards."""
        jobs = [self._timed([sys.executable, "-m", "jobmon", "submit", *JOB])[1] for _ in range(count)]
        pids = [self._settled(job) for job in jobs]
        yield pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["scancel", *map(str, jobs)], check=True)

    def _timed(self, argv: list[str]) -> tuple[float, int]:
        began = time.perf_counter()
        done = subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True
        )
        took_s = time.perf_counter() - began
        match = re.search(r"Submitted batch job (\d+)", done.stdout)
        if match is None:
            raise SystemExit(f"no job: {done}")
        return took_s, int(match[1])

    def _settled(self, job_id: int) -> int:
        """Wait until the monitor of a job has looked at it and sleeps; return its pid."""
        while True:
            (job,) = self.ctx.store.find(JobRef(job_id))
            owner = job_status(self.ctx, job).owner
            if job.workdir and owner and _sleeps(owner.pid):
                return owner.pid
            time.sleep(0.05)


def _sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "S"


def pss_kb(pid: int) -> int:
    """Return the proportional set size of a process in KiB: its own pages, and its share of shared ones."""
    match = re.search(
        r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii"), re.MULTILINE
    )
    if match is None:
        raise SystemExit(f"the kernel does not tell the memory of process {pid}")
    return int(match[1])


def figures_of(
    times: list[tuple[float, float]], alone_kb: list[int], together_kb: list[int]
) -> dict[str, dict[str, float]]:
    """Return minimum, median and maximum of everything measured."""
    measured: dict[str, list[float]] = {
        "sbatch_s": [bare for bare, _ in times],
        "jobmon_submit_s": [watched for _, watched in times],
        "ratio": [watched / bare for bare, watched in times],
        "extra_s": [watched - bare for bare, watched in times],
        "pss_kb_alone": [float(kb) for kb in alone_kb],
        f"pss_kb_of_{MONITORS}": [float(kb) for kb in together_kb],
    }
    return {
        name: {"min": min(values), "median": statistics.median(values), "max": max(values)}
        for name, values in measured.items()
    }


def table(figures: dict[str, dict[str, float]]) -> str:
    """Draw the figures."""
    rows = [(name, *(f"{value:.3f}" for value in figure.values())) for name, figure in figures.items()]
    return tabulate(rows, ("figure", "min", "median", "max"), disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
