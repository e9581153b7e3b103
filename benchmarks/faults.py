"""Whether messages are lost, or come twice, while monitors are killed and Discord is in a bad mood.

It needs no Slurm: the cluster is replayed, beside a few real jobs of the local scheduler. All else is real::

    .venv/bin/python benchmarks/faults.py --events 1000 --kills 200 --seed 1

Monitors follow arrays through what keeps them from starting to the end of each task. They are killed with
SIGKILL at each named step between asking, deciding, saving, sending and ticking off, and at random instants;
`recover` brings them back. The fake Discord answers 429 and 5xx, hangs, resets, and closes after it took a
message. Its clock, and so all waits of jobmon, run ``--speed`` times as fast as in life.

Bounds: nothing lost; a repeat only where a kill hit a send, one at most, or where an answer was lost, and
each repeat is marked; nothing out of order within a job and a channel. The exit status is 1 where one breaks.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tabulate import tabulate

from benchmarks.fault_campaign.campaign import Aim, Campaign
from benchmarks.fault_campaign.checks import reckon
from benchmarks.fault_campaign.flaky_discord import FoulDiscord, Foulness
from benchmarks.fault_campaign.forkserver import Nursery
from benchmarks.fault_campaign.real import submit
from benchmarks.fault_campaign.scenario import stories
from jobmon_core.store.home import Home

Figures = dict[str, int | float | dict[str, int] | list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    aim = Aim(options.kills, options.seed, options.speed, options.limit)
    with tempfile.TemporaryDirectory(prefix="jobmon-faults-", ignore_cleanup_errors=True) as folder:
        figures, broken = campaign(Path(folder), aim, options.events, options.real)
    print(json.dumps({**figures, "broken": broken}, indent=2) if options.json else _table(figures))
    for fault in broken:
        print(f"NOT HELD: {fault}", file=sys.stderr)
    return 1 if broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=300, help="messages to be told (default: 300)")
    parser.add_argument("--real", type=int, default=5, help="arrays that are real (default: 5)")
    parser.add_argument("--kills", type=int, default=60, help="monitors to be killed (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is left to chance (default: 1)")
    parser.add_argument("--speed", type=float, default=60.0, help="of the clock (default: 60)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that it may take (default: 600)")
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    return parser.parse_args(arguments)


def campaign(home: Path, aim: Aim, events: int, real: int) -> tuple[Figures, list[str]]:
    """Run one campaign in an empty folder; return its figures, and every bound that does not hold."""
    began_s = time.monotonic()
    told = (*submit(real, Home(home).backend_folder("local"), aim.seed), *stories(events, aim.seed))
    nursery = Nursery()
    nursery.open()
    with FoulDiscord(aim.seed, Foulness(), aim.speed) as discord, closing(nursery):
        field = Campaign(home, discord, nursery, aim)
        finished = field.run(told)
        killed = nursery.killed()
    found = reckon([event for story in told for event in story.events], discord.arrivals, field.toll.cut_off)
    broken = [*found.broken]
    if not finished:
        broken.append(f"not at its end after {aim.limit_s:g} s: {'; '.join(field.left())}")
    if killed < aim.kills:
        broken.append(f"only {killed} monitors were killed")
    if found.repeats_after_kills > killed:
        broken.append(f"{found.repeats_after_kills} repeats after {killed} kills")
    return {
        "events": found.events,
        "jobs": len(told),
        "real jobs": real,
        "kills": killed,
        "kills at random instants": field.toll.outside,
        "kills at named steps": dict(field.toll.at_steps),
        "kills in the middle of a send": field.toll.cut_off.total(),
        "requests that met": dict(discord.met),
        "arrivals": found.arrivals,
        "lost": len(found.lost),
        "repeats after kills": found.repeats_after_kills,
        "repeats after lost answers": found.repeats_after_lost_answers,
        "repeats without a mark": len(found.unmarked),
        "repeats without a reason": len(found.unexplained),
        "out of order": len(found.out_of_order),
        "given up": field.given_up,
        "seconds": round(time.monotonic() - began_s, 1),
    }, broken


def _table(figures: Figures) -> str:
    rows = [(what, _shown(found)) for what, found in figures.items()]
    return tabulate(rows, disable_numparse=True, maxcolwidths=[None, 90])


def _shown(figure: float | dict[str, int] | list[str]) -> str:
    """Write a figure, or what it is made of."""
    if isinstance(figure, dict):
        return ", ".join(f"{name}: {number}" for name, number in sorted(figure.items()))
    return "; ".join(figure) or "0" if isinstance(figure, list) else f"{figure:g}"


if __name__ == "__main__":
    sys.exit(main())
