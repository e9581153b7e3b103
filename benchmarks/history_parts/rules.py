"""How often the rules of the history are wrong, and what they find, in simulations and recorded runs.

- The rule about runs that are slower than usual: false alarms in series without a change, at several levels
  of noise, and how many runs that take 1.5 times as long are found.
- The same while a run goes on, at looks every minute of which each may be wrong: its pace so far wanders by
  some 5 % around that of the whole. With TRACES and LOGS, as `benchmarks/alarms.py` takes them, also the pace
  of recorded runs, each beside five that would have been like it.
- The rule about nodes: months of a user with 20 nodes and 10 runs a day, looked at each day, with a node that
  kills every run and without one.
- The rule about slow nodes: such months with a node that takes 1.5 times as long, and without one. Each day's
  runs are mostly on three nodes; the speed of a name changes at times, some days are slow everywhere, some
  runs for themselves.
- The forecast: how often users whose failures are independent get one, and how often a job that fails by one
  cause nine times of ten does.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.alarms import INTERVAL_S, read_recordings
from benchmarks.figures import Figure
from benchmarks.timed_logs import Recording, read_timed_logs
from jobmon_core.domain.job.history.baseline import (
    COMPARED,
    Comparison,
    Usual,
    compared,
    has_pace,
    is_unusual,
)
from jobmon_core.domain.job.history.forecast import COUNTED, forecast
from jobmon_core.domain.job.history.nodes import DAY_S, WINDOW_S, slow_nodes, suspect_nodes
from jobmon_core.domain.job.history.record import HistoryRecord, step_s
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, Sample

TRIALS = 10_000
_RUNS_A_DAY = 10
_NODES = 20
_ENOUGH_RUNS = 10  # on a slow node, in a month


def rule_figures(trials: int, months: int, recordings: Sequence[Path]) -> list[Figure]:
    """Return the figures of all rules; ``recordings`` are TRACES and LOGS, or empty."""
    return [
        *_slower_rule(trials),
        *_running_rule(trials),
        *recorded(trials, *recordings),
        *_node_rule(months),
        *_slow_node_rule(months),
        *_forecast_rule(trials),
    ]


def _slower_rule(trials: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    figures = []
    for noise in (0.03, 0.1, 0.15, 0.2, 0.4):
        series = [[draw.lognormvariate(0, noise) for _ in range(COMPARED + 1)] for _ in range(trials)]
        false = sum(is_unusual(each[0], each[1:]) for each in series) / trials
        found = sum(is_unusual(1.5 * each[0], each[1:]) for each in series) / trials
        figures.append(Figure(f"false_alarms_noise_{noise:.0%}", false, at_most=0.03))
        figures.append(Figure(f"slower_by_half_found_noise_{noise:.0%}", found))
    return figures


def _running_rule(trials: int) -> list[Figure]:
    figures = []
    for noise in (0.03, 0.1, 0.15, 0.2, 0.4):
        draw = random.Random(1)  # noqa: S311 - a simulation
        false = sum(_is_told(draw, noise, 1.0) for _ in range(trials)) / trials
        found = sum(_is_told(draw, noise, 1.5) for _ in range(trials // 10)) * 10 / trials
        figures.append(Figure(f"while_running_false_alarms_noise_{noise:.0%}", false, at_most=0.03))
        figures.append(Figure(f"while_running_found_noise_{noise:.0%}", found))
    return figures


def _is_told(draw: random.Random, noise: float, factor: float) -> bool:
    *five, own = (draw.lognormvariate(0, noise) for _ in range(COMPARED + 1))
    if not is_unusual(9 * max(five), five):  # as five that disagree: nothing is ever told
        return False
    wander = itertools.accumulate(draw.gauss(0, 0.2) for _ in range(90))
    paces = (factor * own * math.exp(total / (number + 16)) for number, total in enumerate(wander))
    return tells_slower(zip(range(900, 6300, 60), paces, strict=True), "step", tuple(five))


def tells_slower(looks: Iterable[tuple[float, float | None]], unit: str, five: tuple[float, ...]) -> bool:
    """Return whether a run is called slow at any look: its time and the pace so far, if it can be judged."""
    known = Comparison(0.0, Usual(unit, five))
    for at_s, pace in looks:
        run = HistoryRecord(1, 0, at_s, unit=unit, step_s=pace)
        known, events = compared(known, run)
        if any(event.kind is EventKind.SLOW for event in events):
            return True
    return False


def recorded_looks(run: Recording) -> list[tuple[float, float | None]]:
    """Return the looks at a recorded run, as `tells_slower` takes them."""
    history, states, found = History(), iter(run.states), list[tuple[float, float | None]]()
    state, now_s = next(states, None), 0.0
    while state is not None:
        now_s += max(1.0, min(INTERVAL_S, run.duration_s / 200))
        while state is not None and state[0] <= now_s:
            history = add_sample(history, Sample(state[0], state[1].current))
            state = next(states, None)
        found.append((now_s, step_s(history.samples) if has_pace(history) else None))
    return found


def recorded(count: int, traces: Path | None = None, logs: Path | None = None) -> list[Figure]:
    """Return how often recorded runs are called slow, each beside five that would have been like it."""
    if traces is None or logs is None:
        return []
    judged = [recorded_looks(run) for run in (*read_recordings(traces), *read_timed_logs(logs))]
    judged = [looks for looks in judged if looks[-1][1]]
    draw, told = random.Random(1), {1.0: 0, 1.5: 0}  # noqa: S311 - a simulation
    count //= 500
    trials = count * 4 * len(judged)
    for looks, noise, _ in itertools.product(judged, (0.03, 0.1, 0.15, 0.2), range(count)):
        own, *five = ((looks[-1][1] or 0.0) * draw.lognormvariate(0, noise) for _ in range(COMPARED + 1))
        factor = own / (looks[-1][1] or 1.0)
        for slower in told:
            paces = ((at_s, pace and slower * factor * pace) for at_s, pace in looks[::4])
            told[slower] += tells_slower(paces, "step", tuple(five))
    return [
        Figure("recorded_runs", len(judged)),
        Figure("recorded_false_alarms", told[1.0] / trials, at_most=0.03),
        Figure("recorded_slower_by_half_found", told[1.5] / trials),
    ]


def _node_rule(months: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    accused = sum(bool(_named(draw, has_bad_node=False) - {0}) for _ in range(months))
    few = max(1, months // 10)
    found = [_named(draw, has_bad_node=True) for _ in range(few)]
    return [
        Figure("months_with_a_good_node_accused", accused, at_most=0),
        Figure("bad_node_named", sum(0 in each for each in found) / few, at_least=0.9),
        Figure("good_node_accused_beside_it", sum(bool(each - {0}) for each in found), at_most=0),
    ]


def _named(draw: random.Random, *, has_bad_node: bool) -> set[int]:
    """Return the nodes that a month's daily looks name; if there is a bad node, it is number 0."""
    runs: list[HistoryRecord] = []
    named: set[int] = set()
    keep = int(WINDOW_S / DAY_S) * _RUNS_A_DAY
    base_rate = draw.choice((0.005, 0.02, 0.05))
    for day in range(30):
        for number in range(_RUNS_A_DAY):
            node = draw.randrange(_NODES)
            died = (has_bad_node and node == 0) or draw.random() < base_rate
            ended_s = int(day * DAY_S) + number
            outcome, cause = ("failure", "node_fail") if died else ("success", "")
            runs.append(
                HistoryRecord(number, 0, 0.0, nodes=str(node), ended_s=ended_s, outcome=outcome, cause=cause)
            )
        named |= {int(each.node) for each in suspect_nodes(runs[-keep:], (day + 1) * DAY_S)}
    return named


def _slow_node_rule(months: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    accused = sum(bool(_named_slow(draw, has_slow_node=False)[0]) for _ in range(months))
    slow = [_named_slow(draw, has_slow_node=True) for _ in range(max(1, months // 5))]
    found = [0 in named for named, runs in slow if runs >= _ENOUGH_RUNS]
    return [
        Figure("months_with_a_good_node_called_slow", accused, at_most=months / 1_000),
        Figure("slow_node_named", sum(found) / max(1, len(found)), at_least=0.9),
        Figure("good_node_called_slow_beside_it", sum(bool(named - {0}) for named, _ in slow)),
    ]


def _named_slow(draw: random.Random, *, has_slow_node: bool) -> tuple[set[int], int]:
    """Return the nodes that a month's daily looks name, and the runs on the slow one, which is number 0."""
    runs: list[HistoryRecord] = []
    named: set[int] = set()
    speeds, noise = [1.0] * 4, draw.choice((0.03, 0.06, 0.1))
    for day in range(30):
        nodes = draw.sample(range(_NODES), 3)
        today = draw.choices((1.0, 1.5), (0.95, 0.05))[0]
        for number in range(_RUNS_A_DAY):
            name = draw.randrange(len(speeds))
            if draw.random() < 0.01:  # noqa: PLR2004 - its program changed
                speeds[name] *= draw.lognormvariate(0, 0.3)
            node = draw.choice(nodes) if draw.random() < 0.7 else draw.randrange(_NODES)  # noqa: PLR2004
            step_s = speeds[name] * draw.lognormvariate(0, noise) * today
            step_s *= draw.choices((1.0, draw.uniform(1.5, 3.0)), (0.98, 0.02))[0]
            step_s *= 1.5 if has_slow_node and node == 0 else 1.0
            ended_s, job_id = int(day * DAY_S) + number * 3_600, day * _RUNS_A_DAY + number
            run = HistoryRecord(job_id, 0, 0.0, name=str(name), nodes=str(node), ended_s=ended_s)
            runs.append(run._replace(outcome="success", unit="step", step_s=step_s))
        named |= {int(each.node) for each in slow_nodes(runs, (day + 1) * DAY_S)}
    return named, sum(run.nodes == "0" for run in runs)


def _forecast_rule(trials: int) -> list[Figure]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    false = {rate: _forecasts(draw, trials, {"cuda_oom": rate}) for rate in (0.1, 0.2, 0.3)}
    mixed = {"cuda_oom": 0.2, "host_oom_kill": 0.1, "import_error": 0.1, "slurm_timeout": 0.1}
    return [
        *(Figure(f"false_forecasts_rate_{rate:.0%}", share, at_most=0.03) for rate, share in false.items()),
        Figure("false_forecasts_half_fail_by_four_causes", _forecasts(draw, trials, mixed), at_most=0.03),
        Figure("failures_of_nine_of_ten_forecast", _forecasts(draw, trials, {"cuda_oom": 0.9}), at_least=0.8),
    ]


def _forecasts(draw: random.Random, trials: int, rates: dict[str, float]) -> float:
    """Return the share of jobs that get a forecast, if each earlier one failed by a cause at these rates."""
    causes, weights = [*rates, ""], [*rates.values(), 1 - sum(rates.values())]
    made = 0
    for _ in range(trials):
        drawn = draw.choices(causes, weights, k=COUNTED)
        runs = [
            HistoryRecord(number, 0, 0.0, outcome="failure" if cause else "success", cause=cause)
            for number, cause in enumerate(drawn)
        ]
        made += forecast(runs) is not None
    return made / trials
