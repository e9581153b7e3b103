"""Measure what an agent costs the job beside which it runs.

Run it where nothing else runs, since programs that compete for the cores blur the ratio::

    .venv/bin/python benchmarks/overhead.py

A program computes on every core, alternately alone and with an agent beside it. Each run beside an agent
gives the ratio of its wall time to the mean of the runs before and after it. The start of the agent counts,
which is a large part of its work in so short a run. Machines vary by more than the bound from one run to the
next: the ratio of two runs alone shows by how much. Then an agent watches 32 workers on 8 GPUs of a fake
driver (`tests/support/fake_nvml.c`, which needs a C compiler) for hours of its own clock, which does not
wait: each round is timed, its memory is listed over time, and its highest private memory in the second half
of the time is compared with that at half-time. In the first hour, an agent still fills what it keeps.

Bounds: the median ratio is not shown to be above 1.01 (its 95 % confidence interval begins below), and the
agent takes at most 1 % of the cores' CPU time; at most 25 MB; 99 % of the rounds take at most 200 ms;
memory that grows by at most 2 %. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from benchmarks.options import options_parser
from benchmarks.overhead_parts.long_run import LongRun, watch_many
from benchmarks.overhead_parts.runs import Triple, measure_triples

MAX_RATIO, MAX_SHARE, MAX_PSS_KB, MAX_ROUND_S, MAX_GROWTH = 1.01, 0.01, 25 * 1024, 0.2, 0.02


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    parser = options_parser(
        __doc__,
        runs=(8, "runs beside an agent"),
        seconds=(30.0, "length of each run, about"),
        hours=(6.0, "length of the long run, by the agent's clock"),
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="jobmon-overhead-") as folder:
        triples = measure_triples(options.runs, options.seconds, Path(folder) / "runs")
        long = watch_many(options.hours, Path(folder) / "long")
    figures = _figures(triples, long)
    levels = [asdict(level) for level in long.levels]
    if options.json:
        print(json.dumps(figures | {"its memory over time": levels}, indent=2))
    else:
        print(_table(figures), tabulate(levels, _LEVEL_HEADERS), sep="\n\n")
    broken = [name for name, limit in _LIMITS.items() if not figures[name] <= limit]
    for name in broken:
        print(f"NOT HELD: {name} is {figures[name]:g}, bound {_LIMITS[name]:g}", file=sys.stderr)
    return 1 if broken else 0


_LEVEL_HEADERS = {"hours": "after hours", "private": "private memory in kB", "pss": "PSS in kB"}
_LIMITS = {
    "ratio, 95 % confidence: from": MAX_RATIO,
    "agent, share of the cores' CPU time": MAX_SHARE,
    "agent, PSS in kB": MAX_PSS_KB,
    "agent of 32 workers and 8 GPUs, PSS in kB": MAX_PSS_KB,
    "its longest round in s, of 99 %": MAX_ROUND_S,
    "growth of its memory": MAX_GROWTH,
}


def _figures(triples: Sequence[Triple], long: LongRun) -> dict[str, float]:
    ratios, noise = sorted(each.ratio for each in triples), sorted(each.noise for each in triples)
    rounds, cores = sorted(long.rounds_s), os.cpu_count() or 1
    lowest, highest = _confidence(ratios)
    return {
        "cores": cores,
        "runs beside an agent": len(triples),
        "ratio, median": statistics.median(ratios),
        "ratio, 95 % confidence: from": lowest,
        "ratio, 95 % confidence: to": highest,
        "ratio of two runs alone, least": noise[0],
        "ratio of two runs alone, median": statistics.median(noise),
        "ratio of two runs alone, greatest": noise[-1],
        "agent, share of the cores' CPU time": statistics.median(each.cpu for each in triples) / cores,
        "agent, PSS in kB": max(each.pss_kb for each in triples),
        "agent of 32 workers and 8 GPUs, PSS in kB": max(each.pss for each in long.levels),
        "its rounds": len(rounds),
        "its median round in s": statistics.median(rounds),
        "its longest round in s, of 99 %": rounds[int(0.99 * len(rounds)) - 1],
        "its longest round in s": rounds[-1],
        "growth of its memory": long.growth,
        "its files in kB": long.files_kb,
    }


def _confidence(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median of sorted values, by the sign test."""
    # normal approximation of the binomial distribution, see Conover, Practical Nonparametric Statistics, 3.2
    index = max(0, int(len(values) / 2 - 0.98 * math.sqrt(len(values))))
    return values[index], values[-1 - index]


def _table(figures: dict[str, float]) -> str:
    rows = [(name, f"{value:.6g}", _bound(name)) for name, value in figures.items()]
    return tabulate(rows, ("", "measured", "bound"), disable_numparse=True)


def _bound(name: str) -> str:
    return f"<= {_LIMITS[name]:g}" if name in _LIMITS else ""


if __name__ == "__main__":
    sys.exit(main())
