"""Measure the time that jobmon adds to sbatch, and the memory of an idle monitor.

Run it on a real Slurm, here a private one::

    dev/with-slurm .venv/bin/python benchmarks/submit.py

Each pair is one ``sbatch`` and one ``jobmon submit`` of the same held job; the monitor is killed before the
next pair, so that pairs do not disturb each other. ``--sbatch-takes`` delays each sbatch, to show how much
of jobmon's work is done while a slow one runs. ``--where`` adds the time of each step of ``jobmon submit``,
and that of starting Python with and without jobmon's imports. The times come from a wrapper script for
sbatch and from the files that jobmon writes; they are accurate to a few ms. jobmon acts when
sbatch has ended, or has printed nothing for half a second after it named the job (``--wait``).

Bounds: less than 120 ms more than sbatch, and less than 12 MB that an idle monitor takes of its own. Its PSS
adds its share of Python itself, which is much for a monitor alone and little among many. The exit status is
1 if a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tabulate import tabulate

from benchmarks.load_parts.processes import memory
from benchmarks.load_parts.user import BenchmarkUser, job_id
from benchmarks.load_parts.wrapper import install_wrapper
from benchmarks.options import options_parser
from jobmon_core.domain.slurm.job_ids import JobRef

JOB = ("--hold", "--job-name=benchmark", "--output=/dev/null", "--wrap=true")
MAX_EXTRA_S, MAX_OWN_KB = 0.120, 12 * 1024
MONITORS = 8  # alive at once when the memory of several is measured
_IMPORTS = "import jobmon.cli, jobmon.commands.submit"

Summary = dict[str, dict[str, float]]


def main() -> int:
    """Print the figures; return 0 if both bounds hold."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="jobmon-benchmark-") as folder:
        bench = Bench(Path(folder), options.sbatch_takes / 1000, wrapped=options.where)
        times = [bench.pair() for _ in range(options.pairs + 1)][1:]  # the first one warms the caches
        with bench.monitors(1) as pids:
            alone = [memory(pid) for pid in pids]
        with bench.monitors(MONITORS) as pids:
            together = [memory(pid) for pid in pids]
    measured: dict[str, list[float]] = {
        "sbatch_s": [bare for bare, _ in times],
        "jobmon_submit_s": [watched for _, watched in times],
        "ratio": [watched / bare for bare, watched in times],
        "extra_s": [watched - bare for bare, watched in times],
        "own_kb": [float(each.private) for each in (*alone, *together)],
        "pss_kb_alone": [float(each.pss) for each in alone],
        f"pss_kb_of_{MONITORS}": [float(each.pss) for each in together],
    }
    if options.where:
        measured |= {name: [steps[name] for steps in bench.steps[1:]] for name in bench.steps[0]}
    summary: Summary = {
        name: {"min": min(values), "median": statistics.median(values), "max": max(values)}
        for name, values in measured.items()
    }
    print(json.dumps(summary, indent=2) if options.json else _table(summary))
    met = summary["extra_s"]["median"] < MAX_EXTRA_S and summary["own_kb"]["median"] < MAX_OWN_KB
    print(f"bounds {'met' if met else 'NOT MET'}", file=sys.stderr)
    return 0 if met else 1


def _options() -> argparse.Namespace:
    parser = options_parser(__doc__, pairs=(30, "pairs of submissions"))
    parser.add_argument(
        "--sbatch-takes", type=float, default=0.0, metavar="MS", help="delay each sbatch by MS milliseconds"
    )
    parser.add_argument("--where", action="store_true", help="also show the steps of jobmon submit")
    return parser.parse_args()


class Bench:
    """A user who submits held jobs."""

    def __init__(self, folder: Path, delay_s: float, *, wrapped: bool) -> None:
        """Work in ``folder``; wrap sbatch in a script that delays it and notes when it starts and ends."""
        self.steps: list[dict[str, float]] = []  # of each pair, in seconds
        self._times = folder / "times"
        self._wrapped = wrapped
        programs = folder / "bin"
        if wrapped or delay_s:
            note = f'echo $EPOCHREALTIME >> "{self._times}"'
            wait = (f"sleep {delay_s}",) if delay_s else ()
            only_version = '[ "$1" != --version ] || exec "{real}" "$@"'  # jobmon asks for it, too
            submit = (note, *wait, '"{real}" "$@"', "code=$?", note, "exit $code")
            install_wrapper(programs, "sbatch", only_version, *submit)
        self.user = BenchmarkUser(folder, path=str(programs))

    def pair(self) -> tuple[float, float]:
        """Submit with sbatch, then with jobmon; return both wall times in seconds."""
        bare_s, bare = self._timed("sbatch", *JOB)
        self._times.unlink(missing_ok=True)
        started_s = time.time()
        jobmon_s, watched = self._timed(str(Path(sys.executable).with_name("jobmon")), "submit", *JOB)
        if self._wrapped:
            self.steps.append(self._steps(job_id(watched), started_s, started_s + jobmon_s))
        self.user.settle(1)
        self.user.kill_monitors()
        self.user.run(["scancel", str(job_id(bare)), str(job_id(watched))])
        return bare_s, jobmon_s

    @contextmanager
    def monitors(self, count: int) -> Iterator[list[int]]:
        """Provide the PIDs of the idle monitors of ``count`` jobs, which are killed afterwards."""
        jobs = self.user.submit(count, *JOB)
        yield self.user.settle(count)
        self.user.kill_monitors()
        self.user.run(["scancel", *map(str, jobs)])

    def _timed(self, *argv: str) -> tuple[float, str]:
        """Run a command; return its wall time in seconds and its stdout."""
        started_s = time.perf_counter()
        stdout = self.user.run(argv)
        return time.perf_counter() - started_s, stdout

    def _steps(self, job: int, started_s: float, ended_s: float) -> dict[str, float]:
        """Return how long each step of one jobmon submit took, in seconds."""
        ctx = self.user.ctx
        (state,) = ctx.store.find(JobRef(job))
        saved_s = ctx.store.path(state.id).stat().st_mtime
        owned_s = ctx.owner_record(state.id).path.stat().st_mtime
        sbatch_s, sbatch_ended_s = map(float, self._times.read_text(encoding="ascii").split())
        return {
            "where_python_start_s": self._timed(sys.executable, "-c", "pass")[0],
            "where_python_start_and_imports_s": self._timed(sys.executable, "-c", _IMPORTS)[0],
            "where_until_sbatch_s": sbatch_s - started_s,
            "where_sbatch_s": sbatch_ended_s - sbatch_s,
            "where_state_saved_s": saved_s - sbatch_ended_s,
            "where_monitor_owns_job_s": owned_s - saved_s,
            "where_until_exit_s": ended_s - owned_s,
        }


def _table(summary: Summary) -> str:
    rows = [(name, *(f"{value:.3f}" for value in figure.values())) for name, figure in summary.items()]
    return tabulate(rows, ("figure", "min", "median", "max"), disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
