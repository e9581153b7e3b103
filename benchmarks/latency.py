"""Measure how long a user waits for a message: from the real end of a job until Discord accepts it.

Run it on a private Slurm, whose accounting it also slows down::

    dev/with-slurm .venv/bin/python benchmarks/latency.py --default-interval

Jobs are submitted with `jobmon submit`, four by each user, and end evenly spread over two poll intervals;
every other one fails. A job records its own end with its last command; the fake Discord records when it
accepts the message. The settings with the shortest interval differ in accounting: as usual; late (its
database is locked, so that sacct answers with old data); hanging (slurmdbd is suspended, so that sacct
connects but gets no answer).

With ``--agent``, agents run beside the jobs: they see the processes end, which leads to an early query.

Bound: at most one poll interval and the grace period of accounting. The exit status is 1 if it is exceeded.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from benchmarks.latency_parts import lag
from benchmarks.latency_parts.timeline import Timeline, spreads, too_late
from benchmarks.latency_parts.users import Setting, measure
from benchmarks.options import options_parser
from jobmon_core.domain.config import MIN_POLL_S

FLOOR = {"running_s": MIN_POLL_S, "pending_s": MIN_POLL_S}
SETTINGS = (
    Setting("shortest interval", FLOOR, nullcontext),
    Setting("accounting late", FLOOR, lag.late),
    Setting("accounting hangs", FLOOR, lag.hanging),
)
DEFAULT = Setting("default interval", {}, nullcontext)
WITH_AGENTS = Setting("default interval, agents", {}, nullcontext, has_agents=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if the bound holds for every job."""
    parser = options_parser(__doc__, jobs=(40, "jobs in each setting"))
    parser.add_argument(
        "--default-interval",
        action="store_true",
        help="also measure the default interval (takes minutes more)",
    )
    parser.add_argument(
        "--agent", action="store_true", help="measure only the default interval, with agents and without"
    )
    options = parser.parse_args(arguments)
    measured: dict[str, list[Timeline]] = {}
    usual = (*SETTINGS, DEFAULT) if options.default_interval else SETTINGS
    for setting in (WITH_AGENTS, DEFAULT) if options.agent else usual:
        with tempfile.TemporaryDirectory(prefix="jobmon-latency-", ignore_cleanup_errors=True) as folder:
            measured[setting.name] = measure(setting, options.jobs, Path(folder), os.environ)
        print(f"{setting.name}: measured", file=sys.stderr)
    print(as_json(measured) if options.json else tables(measured))
    broken = [name for name, timelines in measured.items() if too_late(timelines)]
    for name in broken:
        print(f"NOT HELD: {len(too_late(measured[name]))} messages too late, {name}", file=sys.stderr)
    return 1 if broken else 0


def as_json(measured: dict[str, list[Timeline]]) -> str:
    """Return the figures as JSON, in seconds."""
    figures = {
        name: {
            "jobs": len(timelines),
            "bound": max(timeline.bound_s for timeline in timelines),
            "too late": len(too_late(timelines)),
            **{part: asdict(spread) for part, spread in spreads(timelines).items()},
        }
        for name, timelines in measured.items()
    }
    return json.dumps(figures, indent=2)


def tables(measured: dict[str, list[Timeline]]) -> str:
    """Return the figures as tables, in seconds: the whole wait and its parts."""
    return "\n\n".join(_table(name, timelines) for name, timelines in measured.items())


def _table(name: str, timelines: list[Timeline]) -> str:
    bound_s = max(timeline.bound_s for timeline in timelines)
    verdict = f"bound {bound_s:g} s {'NOT MET' if too_late(timelines) else 'met'}"
    rows = [
        (part, *(f"{seconds:.1f}" for seconds in asdict(spread).values()))
        for part, spread in spreads(timelines).items()
    ]
    head = (f"{name}: {len(timelines)} jobs, {verdict}", "median", "p95", "max")
    return tabulate(rows, head, disable_numparse=True)


if __name__ == "__main__":
    sys.exit(main())
