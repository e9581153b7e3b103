"""Produce every long figure of CONTRIBUTING.md, one command after the other, within 15 minutes.

dev/soak [NAME...] prints each command's figures beside their bounds. It fails where one does not hold, and
where the time was up before all had run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AT_MOST_S = 15 * 60.0
TIME_WAS_UP = 124  # timeout(1)
SLURM = ("dev/with-slurm", ".venv/bin/python")
READERS = ("squeue", "sacct", "scontrol", "queue_table", "accounting_table", "record_table")
FILES = ("state", "patterns", "log", "packed_log", "message")
TRIALS = {
    "submit": (*SLURM, "benchmarks/submit.py", "--pairs", "10"),
    "faults": (".venv/bin/python", "benchmarks/faults.py", "--events", "1000", "--kills", "220"),
    "load": (*SLURM, "benchmarks/load.py"),
    "latency": (*SLURM, "benchmarks/latency.py", "--jobs", "16"),
    "fuzz": ("dev/fuzz", "--seconds", "21", *READERS, *FILES),  # a million inputs on two processors
}


def main(names: list[str]) -> int:
    """Run the trials of these names, or all; return 0 if each held."""
    unknown = set(names) - TRIALS.keys()
    if unknown:
        print(
            f"dev/soak: there is no {', '.join(sorted(unknown))}; there is {', '.join(TRIALS)}",
            file=sys.stderr,
        )
        return 2
    until_s = time.monotonic() + AT_MOST_S
    ends = {name: trial(name, until_s) for name in names or TRIALS}
    print("\n" + "\n".join(f"{name:10}{end}" for name, end in ends.items()))
    return 0 if all(end.startswith("held") for end in ends.values()) else 1


def trial(name: str, until_s: float) -> str:
    """Run one trial; say what became of it."""
    started_s = time.monotonic()
    print(f"\n== {name}: {' '.join(TRIALS[name])}", flush=True)
    left_s = max(until_s - started_s, 1.0)
    # not by our own hand: a private Slurm has to be ended in peace
    code = subprocess.run(
        ["timeout", "--kill-after=60", f"{left_s:.0f}", *TRIALS[name]],  # noqa: S607 - a system program
        cwd=ROOT,
        check=False,
    ).returncode
    if code == TIME_WAS_UP:
        return "not finished: the time was up"
    return f"{'held' if code == 0 else 'DID NOT HOLD'} after {time.monotonic() - started_s:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
