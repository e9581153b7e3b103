"""How long a user waits for the message: from a job's real end to Discord's acceptance.

Run it on a real Slurm, here a private one, whose accounting it also makes lag::

    dev/with-slurm .venv/bin/python benchmarks/latency.py --default-interval

Jobs are submitted by `jobmon submit`, four to a user, and end evenly spread over two intervals, every other
one with a failure. A job notes its own end with its last command; the fake Discord notes when it took the
message. With the interval at its floor accounting is as it comes, then late (nothing is written into its
database, so that sacct goes on to say what it said before), then hangs (slurmdbd is frozen, so that sacct
is connected and never answered).

Bound: never more than one interval and accounting's grace. The exit status is 1 where it breaks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tabulate import tabulate

from benchmarks.latency_parts import lag
from benchmarks.latency_parts.timeline import Spread, Timeline, late, spreads
from benchmarks.latency_parts.users import Setting, measure
from jobmon_core.domain.config import MIN_POLL_S

FLOOR = {"running_s": MIN_POLL_S, "pending_s": MIN_POLL_S}
SETTINGS = (
    Setting("interval at its floor", FLOOR, lag.prompt),
    Setting("accounting late", FLOOR, lag.late),
    Setting("accounting hangs", FLOOR, lag.hanging),
)
DEFAULT = Setting("default interval", {}, lag.prompt)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if the bound held for every job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=40, help="in each setting (default: 40)")
    parser.add_argument("--default-interval", action="store_true", help="also that (minutes more)")
    parser.add_argument("--json", action="store_true", help="one object instead of the tables")
    options = parser.parse_args(arguments)
    measured: dict[str, list[Timeline]] = {}
    for setting in (*SETTINGS, DEFAULT) if options.default_interval else SETTINGS:
        with tempfile.TemporaryDirectory(prefix="jobmon-latency-", ignore_cleanup_errors=True) as folder:
            measured[setting.name] = measure(setting, options.jobs, Path(folder), os.environ)
        print(f"{setting.name}: measured", file=sys.stderr)
    print(as_json(measured) if options.json else tables(measured))
    broken = [name for name, ways in measured.items() if late(ways)]
    for name in broken:
        print(f"NOT HELD: {len(late(measured[name]))} too late, {name}", file=sys.stderr)
    return 1 if broken else 0


def as_json(measured: dict[str, list[Timeline]]) -> str:
    """Write the figures for programs, in seconds."""
    figures = {
        name: {
            "jobs": len(ways),
            "bound": max(way.bound_s for way in ways),
            "too late": len(late(ways)),
            **{part: asdict(spread) for part, spread in spreads(ways).items()},
        }
        for name, ways in measured.items()
    }
    return json.dumps(figures, indent=2)


def tables(measured: dict[str, list[Timeline]]) -> str:
    """Draw the figures, in seconds: the whole wait, and where it goes."""
    return "\n\n".join(_table(name, ways) for name, ways in measured.items())


def _table(name: str, ways: list[Timeline]) -> str:
    bound_s, too_late = max(way.bound_s for way in ways), len(late(ways))
    verdict = f"bound {bound_s:g} s {'NOT MET' if too_late else 'met'}"
    rows = [(part, *_shown(spread)) for part, spread in spreads(ways).items()]
    head = (f"{name}: {len(ways)} jobs, {verdict}", "median", "p95", "max")
    return tabulate(rows, head, disable_numparse=True)


def _shown(spread: Spread) -> tuple[str, str, str]:
    return f"{spread.median:.1f}", f"{spread.p95:.1f}", f"{spread.max:.1f}"


if __name__ == "__main__":
    sys.exit(main())
