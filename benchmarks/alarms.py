"""Count the alarms about recorded runs: false ones about healthy runs, and found hangs and slowdowns.

    .venv/bin/python benchmarks/alarms.py TRACES LOGS [--json]

TRACES holds recorded traces (see `benchmarks/eta.py`), LOGS holds logs with an ``index.jsonl``; only logs
whose lines show when they were written count (see `benchmarks/timed_logs.py`). Each run is looked at every 30
seconds, as by a monitor, and again at 200 moments, more often for short runs and less often for long ones.

- ``false``: stalls, slowdowns and too short time limits that are reported about the runs as recorded. Runs
  that reached their end have a time limit of 1.05 times their duration.
- ``hangs``: runs that stop at 30 and 70 %. One is found if the stall is reported at the first look after the
  time that a monitor allows for a pause (`stall_after_s`).
- ``slowdowns``: runs that lose 30 % of their speed at 35, 50 and 70 %, and how much later that is reported,
  as a share of the time before.

Hangs and slowdowns are injected into runs that start once, reach their end, raise no alarm as recorded, and
are looked at 25 times before the first slowdown. No log is looked at more than once a second.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.eta import Trace, TracesInvalid, read_traces
from benchmarks.options import options_parser
from benchmarks.timed_logs import Recording, read_timed_logs
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.progress.estimate import estimate, limit_outlook
from jobmon_core.domain.logs.progress.events.detect import Observation, progress_events, stall_after_s
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, KnownProblems, Progress, Sample

INTERVAL_S = 30.0
LIMIT = 1.05  # of the duration: a healthy run ends before this limit, and so before every later one
HANGS, SLOWDOWNS = (0.3, 0.7), (0.35, 0.5, 0.7)  # of the duration
SLOWER = 1 / 0.7  # times the seconds per unit
ALARMS = (EventKind.STALLED, EventKind.SLOW, EventKind.TIME_LIMIT)
_PARTS, _SHORTEST_S = 200, 1.0  # looks at a run; seconds between two looks: logs show whole seconds
_MIN_LOOKS = 25

Found = tuple[Event, History]


def read_recordings(folder: Path) -> list[Recording]:
    """Read all traces of ``folder``.

    Raises:
        TracesInvalid: there are none, or one is malformed.
    """
    return [recording(trace) for trace in read_traces(folder)]


def recording(trace: Trace) -> Recording:
    """Return a trace as the recording of a whole run."""
    return Recording(trace.name, tuple((s.at_s, Progress(s.current, 1.0)) for s in trace.samples), True)


def replay(
    run: Recording, interval_s: float, until_s: float | None = None, limit_s: float | None = None
) -> Iterator[Found]:
    """Yield what a monitor reports that looks every ``interval_s`` seconds, with the history by then.

    ``limit_s`` is the time limit; None if there is none.
    """
    history, known, states = History(started_s=0.0), KnownProblems(), iter(run.states)
    pending, progress, written_s = next(states, None), None, 0.0
    now_s = 0.0
    while (now_s := now_s + interval_s) < (until_s or run.duration_s):
        while pending is not None and pending[0] <= now_s:
            written_s, progress = pending
            pending = next(states, None)
        if progress is None:
            continue
        history = add_sample(history, Sample(written_s, progress.current))
        idle_s = now_s - written_s
        sign = f"nothing was written for {duration(idle_s)}" if idle_s >= stall_after_s(history) else ""
        outlook = None
        if limit_s is not None:
            outlook = limit_outlook(estimate(history, progress.total, now_s), 0.0, limit_s, now_s)
        known, events = progress_events(known, Observation(now_s, progress, history, outlook, sign))
        yield from ((event, history) for event in events)


def false_alarms(run: Recording, interval_s: float) -> list[Event]:
    """Return the alarms about a healthy run."""
    limit_s = LIMIT * run.duration_s if run.is_complete else None
    return [event for event, _ in replay(run, interval_s, limit_s=limit_s) if event.kind in ALARMS]


def hung(run: Recording, share: float) -> Recording:
    """Return the run without what came after a share of its duration."""
    return replace(run, states=tuple(state for state in run.states if state[0] <= share * run.duration_s))


def stall(run: Recording, interval_s: float) -> float | None:
    """Return how long after the bound for its pauses the stall of a hung run is reported; None if it is not.

    The time is in intervals.
    """
    until_s = 3 * run.duration_s + 600 + 2 * interval_s  # a stall is three times the longest pause
    for event, history in replay(run, interval_s, until_s):
        if event.kind is EventKind.STALLED and event.at_s > run.duration_s:
            return (event.at_s - run.duration_s - stall_after_s(history)) / interval_s
    return None


def slowed(run: Recording, share: float) -> Recording:
    """Return the run with 30 % less speed after a share of its duration."""
    from_s = share * run.duration_s
    return replace(
        run,
        states=tuple(
            (at_s + (SLOWER - 1) * max(0.0, at_s - from_s), progress) for at_s, progress in run.states
        ),
    )


def slowdown(run: Recording, share: float, interval_s: float) -> float | None:
    """Return how long after its onset a slowdown is reported, in shares of the time before, if at all."""
    onset_s = share * run.duration_s
    events = [event for event, _ in replay(slowed(run, share), interval_s)]
    found = [event.at_s for event in events if event.kind is EventKind.SLOW and event.at_s > onset_s]
    return found[0] / onset_s - 1 if found else None


def table(runs: Sequence[Recording]) -> dict[str, dict[str, Any]]:
    """Return the figures of a set of runs, looked at every 30 seconds and at 200 moments."""
    return {
        f"{INTERVAL_S:g} s": _figures([(run, INTERVAL_S) for run in runs]),
        f"1/{_PARTS}": _figures([(run, max(_SHORTEST_S, run.duration_s / _PARTS)) for run in runs]),
    }


def can_be_injected(run: Recording, interval_s: float) -> bool:
    """Whether hangs and slowdowns are injected: the run starts once, ends, and is looked at often."""
    starts_once = len({progress.run for _, progress in run.states}) == 1
    return run.is_complete and starts_once and SLOWDOWNS[0] * run.duration_s >= _MIN_LOOKS * interval_s


def _figures(looks: Sequence[tuple[Recording, float]]) -> dict[str, Any]:
    false = [(run.name, event.text) for run, every_s in looks for event in false_alarms(run, every_s)]
    alarmed = {name for name, _ in false}
    injected = [
        (run, every_s) for run, every_s in looks if can_be_injected(run, every_s) and run.name not in alarmed
    ]
    stalls = [stall(hung(run, share), every_s) for run, every_s in injected for share in HANGS]
    slow = {
        (run.name, share): slowdown(run, share, every_s) for run, every_s in injected for share in SLOWDOWNS
    }
    delays = sorted(delay for delay in slow.values() if delay is not None)
    return {
        "runs": len(looks),
        "false": false,
        "hangs": len(stalls),
        "hangs_found": sum(delay is not None and delay <= 1 for delay in stalls),
        "slowdowns": len(slow),
        "slowdowns_found": len(delays),
        "delay_median": round(statistics.median(delays), 3) if delays else None,
        "delay_90": round(delays[int(0.9 * (len(delays) - 1))], 3) if delays else None,
        "delay_longest": round(delays[-1], 3) if delays else None,
        "missed": [
            f"{name}, after {share:.0%} of the run" for (name, share), delay in slow.items() if delay is None
        ],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 if the recordings cannot be read."""
    parser = options_parser(__doc__ or "")
    parser.add_argument("traces", type=Path, metavar="TRACES", help="recorded traces: ID.csv with t,progress")
    parser.add_argument("logs", type=Path, metavar="LOGS", help="the folder of index.jsonl and its logs")
    options = parser.parse_args(argv)
    try:
        sets = {"traces": read_recordings(options.traces), "logs": [*read_timed_logs(options.logs)]}
    except (TracesInvalid, OSError, ValueError, KeyError) as error:
        print(f"alarms.py: {error!r}", file=sys.stderr)
        return 2
    results = {name: table(runs) for name, runs in sets.items()}
    rows = [
        {"set": name, "looks": looks, **figures, **{key: len(figures[key]) for key in ("false", "missed")}}
        for name, result in results.items()
        for looks, figures in result.items()
    ]
    print(tabulate(rows, headers="keys", disable_numparse=True))
    for row in (figures for result in results.values() for figures in result.values()):
        for name, text in row["false"]:
            print(f"  alarm: {name}: {text}")
        for text in row["missed"]:
            print(f"  slowdown not found: {text}")
    if options.json:
        print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
