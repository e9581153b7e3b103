"""Measure how well jobmon predicts the end of a run, on recorded traces of progress.

    .venv/bin/python benchmarks/eta.py DIR [--json]

DIR holds one ``ID.csv`` for each run, with the columns ``t`` (elapsed seconds) and ``progress`` (0 to 1), up
to the end of the run. The samples are given one by one, in the order of time, to the bounded history that
the monitor keeps, and to three rivals: linear from the start, tqdm's moving average (0.3), and the rate over
the last half of the elapsed time. All of them are counted down from the last sample to the moment of the
question, which is a share of the duration: 10, 25, 30, ... 95 %.

- ``within_10``: share of the questions from 25 to 95 % with a remaining time within 10 % of the true one. No
  answer is a wrong one.
- ``in_range``: share of the stated ranges that hold the true remaining time, at the same questions.
- ``mape_25``, ``mape_50``, ``mape_75``: mean over the traces of |predicted finish - true finish| / duration,
  in per cent, at that share of the duration: how far the predicted run time of the whole job is off, which
  is what published figures for predicted run times state.

With ``--json`` the last line is one object with these figures as shares and per cent, for jobmon and rivals.
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from benchmarks.options import options_parser
from jobmon_core.domain.logs.progress.estimate import estimate
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import Estimate, History, Sample

CHECKPOINTS = (10, *range(25, 100, 5))  # % of the duration
_SCORED_FROM = 25
_SHOWN = (10, 25, 50, 75)
_TOLERANCE = 0.1
_TQDM_SMOOTHING = 0.3

Predict = Callable[[Sequence[Sample]], Iterator[Estimate]]


class TracesInvalid(Exception):
    """The traces cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A recorded run."""

    name: str
    samples: tuple[Sample, ...]

    @property
    def duration_s(self) -> float:
        """The time of the last sample."""
        return self.samples[-1].at_s


@dataclass(frozen=True, slots=True)
class Answer:
    """What an estimator answered at a checkpoint of a trace."""

    trace: str
    checkpoint: int  # % of the duration
    duration_s: float
    true_s: float
    answer: Estimate

    @property
    def error(self) -> float | None:
        """The error of the remaining time, as a share of the true one; None without an answer."""
        return (
            None
            if self.answer.remaining_s is None
            else abs(self.answer.remaining_s - self.true_s) / self.true_s
        )

    @property
    def finish_error(self) -> float | None:
        """The error of the finish time, as a share of the duration; None without an answer."""
        return None if self.error is None else self.error * self.true_s / self.duration_s

    @property
    def in_range(self) -> bool | None:
        """Whether the stated range holds the truth; None if none was stated."""
        if self.answer.shortest_s is None or self.answer.longest_s is None:
            return None
        return self.answer.shortest_s <= self.true_s <= self.answer.longest_s


def read_traces(folder: Path) -> list[Trace]:
    """Read all traces of ``folder``.

    Raises:
        TracesInvalid: there are none, or one is malformed.
    """
    traces = [read_trace(path) for path in sorted(folder.glob("*.csv"))]
    if not traces:
        raise TracesInvalid(f"{folder} holds no *.csv")
    return traces


def read_trace(path: Path) -> Trace:
    """Read the trace of one file.

    Raises:
        TracesInvalid: it is malformed.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = [Sample(float(row["t"]), float(row["progress"])) for row in csv.DictReader(file)]
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise TracesInvalid(f"{path}: {error!r}") from error
    if not rows or rows[-1].at_s <= 0:
        raise TracesInvalid(f"{path}: no samples")
    return Trace(path.stem, tuple(rows))


def ask(trace: Trace, estimator: Callable[[], Online]) -> Iterator[Answer]:
    """Yield what an estimator says at each checkpoint, given the samples so far."""
    online, samples = estimator(), iter(trace.samples)
    pending = next(samples, None)
    for checkpoint in CHECKPOINTS:
        now_s = trace.duration_s * checkpoint / 100
        while pending is not None and pending.at_s <= now_s:
            online.add(pending)
            pending = next(samples, None)
        yield Answer(
            trace.name, checkpoint, trace.duration_s, trace.duration_s - now_s, online.estimate(now_s)
        )


class Online:
    """An estimator that gets the samples of one run one by one. This one is jobmon's."""

    def __init__(self) -> None:
        """Start without any sample."""
        self._history = History()

    def add(self, sample: Sample) -> None:
        """Take the next sample."""
        self._history = add_sample(self._history, sample)

    def estimate(self, now_s: float) -> Estimate:
        """Return the remaining time as of ``now_s``."""
        return estimate(self._history, 1.0, now_s)


class Rival(Online):
    """An estimator that multiplies the rest with a pace, counted down from the last sample."""

    def __init__(self) -> None:
        """Start without any sample."""
        self.times_s: list[float] = []
        self.done: list[float] = []

    def add(self, sample: Sample) -> None:
        """Take the next sample."""
        self.times_s.append(sample.at_s)
        self.done.append(sample.current)

    def estimate(self, now_s: float) -> Estimate:
        """Return the remaining time as of ``now_s``."""
        pace = self.pace()
        if pace is None:
            return Estimate()
        return Estimate(remaining_s=max(0.0, (1 - self.done[-1]) * pace - (now_s - self.times_s[-1])))

    def pace(self) -> float | None:
        """Return the seconds for the whole at the current speed; None while there is none."""
        return self._pace_since(0)

    def _pace_since(self, index: int) -> float | None:
        if not self.done or self.done[-1] <= self.done[index]:
            return None
        return (self.times_s[-1] - self.times_s[index]) / (self.done[-1] - self.done[index])


class LastHalf(Rival):
    """The rate over the last half of the elapsed time."""

    def pace(self) -> float | None:
        """Return the seconds for the whole at the current speed; None while there is none."""
        if not self.times_s:
            return None
        middle_s = (self.times_s[0] + self.times_s[-1]) / 2
        return self._pace_since(min(bisect_right(self.times_s, middle_s) - 1, len(self.times_s) - 2))


class MovingAverage(Rival):
    """tqdm's exponential moving average of the rate: of units and seconds, at each line."""

    def __init__(self) -> None:
        """Start without any sample."""
        super().__init__()
        self._seconds = self._units = self._weight = 0.0

    def add(self, sample: Sample) -> None:
        """Take the next sample."""
        if self.done and sample.at_s > self.times_s[-1]:
            keep = 1 - _TQDM_SMOOTHING
            self._seconds = keep * self._seconds + _TQDM_SMOOTHING * (sample.at_s - self.times_s[-1])
            self._units = keep * self._units + _TQDM_SMOOTHING * (sample.current - self.done[-1])
        if not self.done or sample.at_s > self.times_s[-1]:
            super().add(sample)

    def pace(self) -> float | None:
        """Return the seconds for the whole at the current speed; None while there is none."""
        return self._seconds / self._units if self._units > 0 else None


ESTIMATORS: dict[str, Callable[[], Online]] = {
    "jobmon": Online,
    "linear": Rival,
    "tqdm": MovingAverage,
    "last_half": LastHalf,
}


def figures(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return the figures of one estimator: shares from 0 to 1, errors of the finish time in per cent."""
    scored = [answer for answer in answers if answer.checkpoint >= _SCORED_FROM]
    ranges = [held for answer in scored if (held := answer.in_range) is not None]
    within = [answer.error is not None and answer.error <= _TOLERANCE for answer in scored]
    result: dict[str, float | None] = {
        "within_10": round(statistics.fmean(within), 4),
        "in_range": round(statistics.fmean(ranges), 4) if ranges else None,
    }
    for checkpoint in _SHOWN[1:]:
        errors = [
            a.finish_error for a in answers if a.checkpoint == checkpoint and a.finish_error is not None
        ]
        result[f"mape_{checkpoint}"] = round(100 * statistics.fmean(errors), 2) if errors else None
    return result


def as_table(answers: dict[str, list[Answer]]) -> str:
    """Return the table: median and 90th percentile of the error at some checkpoints, and the figures."""
    header = [
        "estimator",
        *(f"at {c} %" for c in _SHOWN),
        "within 10 %",
        "in range",
        *(f"MAPE {c} %" for c in _SHOWN[1:]),
    ]
    rows = []
    for name, given in answers.items():
        within, held, *mape = figures(given).values()
        spreads = [_spread([a.error for a in given if a.checkpoint == checkpoint]) for checkpoint in _SHOWN]
        shares = ["" if share is None else f"{share:.1%}" for share in (within, held)]
        rows.append([name, *spreads, *shares, *mape])
    note = (
        "Errors of the remaining time in %, median / 90th percentile. MAPE: finish time, % of the duration."
    )
    return f"{note}\n\n{tabulate(rows, headers=header, disable_numparse=True)}"


def _spread(errors: list[float | None]) -> str:
    known = sorted(100 * error for error in errors if error is not None)
    missing = len(errors) - len(known)
    if not known:
        return "-"
    tail = known[min(len(known) - 1, round(0.9 * (len(known) - 1)))]
    return f"{statistics.median(known):.1f} / {tail:.0f}" + (f" ({missing} none)" if missing else "")


def misses(answers: Sequence[Answer]) -> str:
    """Return the traces with answers that are off by more than 10 %, worst first."""
    by_trace: dict[str, list[int]] = {}
    for answer in answers:
        if answer.checkpoint >= _SCORED_FROM and (answer.error is None or answer.error > _TOLERANCE):
            by_trace.setdefault(answer.trace, []).append(answer.checkpoint)
    worst = sorted(by_trace.items(), key=lambda item: -len(item[1]))
    return "\n".join(f"  {name}: at {', '.join(map(str, checkpoints))} %" for name, checkpoints in worst)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; return 2 if the traces cannot be read."""
    parser = options_parser(__doc__ or "")
    parser.add_argument("folder", type=Path, metavar="DIR", help="recorded traces: ID.csv with t,progress")
    options = parser.parse_args(argv)
    try:
        traces = read_traces(options.folder)
    except TracesInvalid as error:
        print(f"eta.py: {error}", file=sys.stderr)
        return 2
    answers = {name: [a for trace in traces for a in ask(trace, kind)] for name, kind in ESTIMATORS.items()}
    print(f"{len(traces)} traces\n\n{as_table(answers)}\n")
    print(f"jobmon misses by more than 10 %:\n{misses(answers['jobmon'])}")
    if options.json:
        rivals = {name: figures(given) for name, given in answers.items() if name != "jobmon"}
        print(json.dumps({**figures(answers["jobmon"]), "traces": len(traces), "rivals": rivals}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
