"""Check that no message is lost, or repeated without a mark, while monitors die or freeze and Discord fails.

It needs no Slurm: the cluster is replayed, and the local scheduler runs a few real jobs. Everything else
is real::

    .venv/bin/python benchmarks/faults.py --events 1000 --kills 200 --freezes 100 --seed 1

Monitors watch job arrays through several pending reasons to the end of each task. They are killed with
SIGKILL at each named step from the query of a job to the receipt of its message
(`fault_campaign/kill_points.py`), and at random moments; `recover` replaces them. Others freeze with all
their processes at the same steps, between the look at the owner and the new state, and at random moments. A
monitor with another host name, which their locks do not reach, takes their jobs over as after 15 minutes of
silence; then they run again, before or after it is done. That needs the right to set a host name. The fake
Discord answers 429 and 5xx, hangs, resets, and closes after it accepted a message. The clock and all waits
of jobmon run ``--speed`` times as fast as the real clock.

Bounds: nothing is lost; a message is repeated at most once for each kill or freeze during its send and for
each lost answer, and each repeat is marked; messages of a job arrive in order in each channel. If a monitor
froze while it sent a message, the marked repeat may arrive first; so may that of a message that was offered
to the digests of its host when a monitor of another host took the job over. The messages of a digest may
also be repeated if it took 30 s of the fast clock or longer, which happens on a busy machine. All jobs end,
``--kills`` monitors are killed and ``--freezes`` freeze, within ``--limit`` seconds. A job that ended is
forgotten: none returns, all monitors end, and each of its runs is in the history once. The exit status is 1
if a bound does not hold.
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

from benchmarks.fault_campaign.campaign import Campaign, Plan
from benchmarks.fault_campaign.checks import check_delivery, check_history
from benchmarks.fault_campaign.flaky_discord import FlakyDiscord
from benchmarks.fault_campaign.forkserver import MonitorProcesses
from benchmarks.fault_campaign.member import FREEZE_LOG, KILL_LOG
from benchmarks.fault_campaign.scenario import replayed_scenarios, submit_local_arrays
from benchmarks.options import options_parser
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.home import Home

Figures = dict[str, int | float | dict[str, int] | list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = _options(arguments)
    plan = Plan(options.kills, options.freezes, options.seed, options.speed, options.limit)
    with tempfile.TemporaryDirectory(prefix="jobmon-faults-", ignore_cleanup_errors=True) as folder:
        figures, broken = run_campaign(Path(folder), plan, options.events, options.real)
    print(json.dumps({**figures, "broken": broken}, indent=2) if options.json else _table(figures))
    for fault in broken:
        print(f"NOT HELD: {fault}", file=sys.stderr)
    return 1 if broken else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(
        __doc__,
        events=(300, "messages to deliver"),
        real=(5, "job arrays run by the local scheduler"),
        kills=(60, "monitors to kill"),
        freezes=(30, "monitors to freeze"),
        seed=(1, "seed of the random numbers"),
        speed=(60.0, "factor by which the clock is fast"),
        limit=(600.0, "time limit in seconds"),
    )
    return parser.parse_args(arguments)


def run_campaign(home: Path, plan: Plan, events: int, real: int) -> tuple[Figures, list[str]]:
    """Run one campaign in an empty folder; return its figures and each bound that does not hold."""
    started_s = time.monotonic()
    scenarios = (
        *submit_local_arrays(real, Home(home).backend_folder("local"), plan.seed),
        *replayed_scenarios(events, plan.seed),
    )
    with FlakyDiscord(plan.seed, plan.speed) as discord, closing(MonitorProcesses()) as processes:
        campaign = Campaign(home, discord, processes, plan)
        finished = campaign.run(scenarios)
        survivors = campaign.survivors()
    killed, starter, hosts = processes.killed, campaign.starter, campaign.hosts
    expected = [event for scenario in scenarios for event in scenario.events]
    late = starter.late_attempts()
    delivery = check_delivery(expected, discord.arrivals, starter.interrupted, late, hosts.overtaken)
    broken = [*delivery.broken]
    if not finished:
        broken.append(f"not finished after {plan.limit_s:g} s: {'; '.join(campaign.unfinished())}")
    if killed < plan.kills:
        broken.append(f"only {killed} monitors were killed")
    if hosts.count < plan.freezes:
        broken.append(f"only {hosts.count} monitors froze")
    if delivery.repeats_after_kills > killed + hosts.count:
        broken.append(f"{delivery.repeats_after_kills} repeats after {killed} kills, {hosts.count} freezes")
    if returned := campaign.returned():
        broken.append(f"forgotten jobs that returned: {', '.join(returned)}")
    with open_history(Home(home).history) as history:
        broken += check_history(history.records(Wanted()), scenarios)
    if survivors:
        broken.append(f"{survivors} monitors still run although all jobs were forgotten")
    return {
        "events": delivery.events,
        "jobs": len(scenarios),
        "real jobs": real,
        "kills": killed,
        "kills at random moments": campaign.random_kills,
        "kills at named steps": dict(starter.at_steps(KILL_LOG)),
        "freezes": hosts.count,
        "freezes at named steps": dict(starter.at_steps(FREEZE_LOG)),
        "kills during a send": starter.interrupted.total(),
        "requests by outcome": dict(discord.outcomes),
        "arrivals": delivery.arrivals,
        "digests": delivery.digests,
        "lost": len(delivery.lost),
        "forgotten jobs that returned": len(returned),
        "repeats after kills": delivery.repeats_after_kills,
        "repeats after lost answers": delivery.repeats_after_lost_answers,
        "repeats of digests after kills": delivery.repeats_of_digests,
        "repeats without a mark": len(delivery.unmarked),
        "repeats without a reason": len(delivery.unexplained),
        "out of order": len(delivery.out_of_order),
        "given up": campaign.given_up,
        "seconds": round(time.monotonic() - started_s, 1),
    }, broken


def _table(figures: Figures) -> str:
    rows = [(name, _shown(figure)) for name, figure in figures.items()]
    return tabulate(rows, disable_numparse=True, maxcolwidths=[None, 90])


def _shown(figure: float | dict[str, int] | list[str]) -> str:
    if isinstance(figure, dict):
        return ", ".join(f"{name}: {count}" for name, count in sorted(figure.items()))
    return "; ".join(figure) or "0" if isinstance(figure, list) else f"{figure:g}"


if __name__ == "__main__":
    sys.exit(main())
