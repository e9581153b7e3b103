"""Measure how well jobmon reads progress from logs alone, and how fast.

It needs a folder of logs with a file ``index.jsonl`` that names points of each log: the number of a line, and
what a careful reader knows after it::

    .venv/bin/python benchmarks/progress.py DIR [--json]

A log is read up to the line of a point, and the point is met if

- its current value is that of jobmon within the log's tolerance. The value is that of the whole job; in a log
  whose points count epochs, the epoch; in one whose points are about a part only (``scope``: an epoch, a bar,
  a run of the program) or that several processes write at once (``interleaved``), the innermost counter
  counts too, which is what the line itself shows (``points_strict`` is the share of points that are met
  without this for logs of several processes);
- its total is that of jobmon, where the total can be known at that line: not if the points are about the
  whole job and only the end of the log shows its total, or nothing does (``total_source``: end-of-run-only,
  unknown). A total that follows from a printed eta may differ by 5 %.

The speed is that of one core with loaded formats, in CPU time, over all logs.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.options import options_parser
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader

MEGA = 10**6
INDEX = "index.jsonl"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_DERIVED_TOLERANCE = 0.05
_UNKNOWABLE = ("end-of-run-only", "unknown")
_LOSS_TOLERANCE = 1e-6
_LOSS_SHOWN = {True: "yes", False: "NO", None: ""}


class IndexInvalid(Exception):
    """The folder has no valid index of logs; the text says why."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log with the points that a person noted."""

    id: str
    data: bytes
    unit: str
    scope: str
    tolerance: float
    interleaved: bool
    total_source: str
    points: tuple[tuple[int, float, float | None], ...]  # number of the line, current value, total
    final_loss: float | None


@dataclass(frozen=True, slots=True)
class Result:
    """The points of one log that were met, and what was wrong with the others."""

    log: Log
    met: int
    met_strictly: int  # by the progress of the whole job, also if several processes write at once
    wrong: tuple[str, ...]
    loss_met: bool | None  # None if the log shows no loss

    @property
    def is_right(self) -> bool:
        """Whether all points were met."""
        return self.met == len(self.log.points)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; return 2 if the logs cannot be read."""
    options = _options(argv)
    try:
        logs = list(read_index(options.folder))
    except IndexInvalid as error:
        print(f"progress.py: {error}", file=sys.stderr)
        return 2
    matcher = FormatMatcher.with_patterns({})
    results = [check(log, matcher) for log in logs]
    speed = mb_per_s(logs, options.passes)
    figures = summary(results, speed)
    print(as_text(results, figures))
    if options.json:
        print(json.dumps(figures))
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = options_parser(__doc__ or "", passes=(3, "how often to measure the speed"))
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of index.jsonl and its logs")
    return parser.parse_args(argv)


def read_index(folder: Path) -> Iterator[Log]:
    """Yield the logs of a folder.

    Raises:
        IndexInvalid: the index or a log cannot be read, or lacks a key.
    """
    try:
        lines = (folder / INDEX).read_text(encoding="utf-8").split("\n")
        for line in filter(None, lines):
            yield _log(json.loads(line), folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexInvalid(f"{folder / INDEX}: {error!r}") from error


def _log(entry: dict[str, Any], folder: Path) -> Log:
    truth = entry["truth"]
    return Log(
        id=entry["id"],
        data=(folder / f"{entry['id']}.log").read_bytes(),
        unit=truth["unit"],
        scope=entry["scope"],
        tolerance=entry["tolerance"],
        interleaved=entry["interleaved"],
        total_source=entry["total_source"],
        points=tuple((line, current, total) for line, current, total in truth["points"]),
        final_loss=truth.get("final_loss"),
    )


def check(log: Log, matcher: FormatMatcher) -> Result:
    """Read a log up to each of its points and compare."""
    ends = [match.end() for match in _LINE_END.finditer(log.data)]
    strict = replace(log, interleaved=False)
    reader, position, met, met_strictly, wrong = ProgressReader(matcher), 0, 0, 0, []
    for line, current, total in log.points:
        end = ends[line - 1] if line <= len(ends) else len(log.data)
        reader.feed(log.data[position:end] + (b"\n" if line > len(ends) else b""))
        position = end
        progress = reader.progress
        met_strictly += progress is not None and is_met(strict, current, total, progress)
        if progress is not None and is_met(log, current, total, progress):
            met += 1
        else:
            wrong.append(f"line {line}: {current:g} of {total}, got {_text(progress)}")
    reader.feed(log.data[position:] + b"\n")
    return Result(log, met, met_strictly, tuple(wrong), _loss_met(log, reader.progress))


def is_met(log: Log, current: float, total: float | None, progress: Progress) -> bool:
    """Return whether the progress is that of a point."""
    knowable = total if total is not None and _is_knowable(log) else None
    return any(
        value is not None
        and abs(value - current) <= log.tolerance + 1e-12
        and (knowable is None or _is_total(log, knowable, of))
        for value, of in _counters(log, progress)
    )


def _is_knowable(log: Log) -> bool:
    """Whether the log shows the total of its points in time; the lines of a part of the job show theirs."""
    return log.scope != "job" or log.total_source not in _UNKNOWABLE


def _is_total(log: Log, wanted: float, got: float | None) -> bool:
    if got is None:
        return False
    tolerance = _DERIVED_TOLERANCE * wanted if log.total_source == "derived-from-eta" else 1e-9 * wanted
    return abs(got - wanted) <= tolerance


def _counters(log: Log, progress: Progress) -> Iterator[tuple[float | None, float | None]]:
    """Yield the counters of jobmon that are about what the points of a log count."""
    if log.unit != "epoch" or progress.unit == "epoch":
        yield progress.current, progress.total
    if log.unit == "epoch":
        yield progress.epoch, progress.epochs
    if log.scope != "job" or log.interleaved:
        yield progress.batch, progress.batches


def _loss_met(log: Log, progress: Progress | None) -> bool | None:
    if log.final_loss is None:
        return None
    if progress is None or progress.loss is None:
        return False
    return math.isclose(progress.loss, log.final_loss, rel_tol=_LOSS_TOLERANCE, abs_tol=_LOSS_TOLERANCE)


def mb_per_s(logs: Sequence[Log], passes: int) -> float:
    """Return the speed of reading all logs; the best pass counts, as other load can only slow one down."""
    matcher = FormatMatcher.with_patterns({})
    return sum(len(log.data) for log in logs) / MEGA / min(_pass_s(logs, matcher) for _ in range(passes))


def _pass_s(logs: Sequence[Log], matcher: FormatMatcher) -> float:
    started_s = time.process_time()
    for log in logs:
        reader = ProgressReader(matcher)
        reader.feed(log.data)
        _ = reader.progress
    return time.process_time() - started_s


def summary(results: Sequence[Result], speed: float) -> dict[str, float]:
    """Return the figures over all logs, shares from 0 to 1."""
    losses = [result.loss_met for result in results if result.loss_met is not None]
    points = sum(len(result.log.points) for result in results)
    return {
        "points": sum(result.met for result in results) / max(1, points),
        "points_strict": sum(result.met_strictly for result in results) / max(1, points),
        "logs": sum(result.is_right for result in results) / max(1, len(results)),
        "mb_per_s": speed,
        "final_loss": sum(losses) / max(1, len(losses)),
        "points_counted": points,
        "logs_counted": len(results),
    }


def as_text(results: Sequence[Result], figures: dict[str, float]) -> str:
    """Return a table of all logs, the points that were not met, and the figures."""
    rows = [
        (each.log.id, each.log.scope, f"{each.met}/{len(each.log.points)}", _LOSS_SHOWN[each.loss_met])
        for each in results
    ]
    wrong = [f"{each.log.id}, {text}" for each in results for text in each.wrong]
    totals = (
        f"points met: {figures['points']:.1%} of {figures['points_counted']} "
        f"(strictly: {figures['points_strict']:.1%})\n"
        f"logs wholly right: {figures['logs']:.1%} of {figures['logs_counted']}\n"
        f"final loss right: {figures['final_loss']:.1%}\n"
        f"speed: {figures['mb_per_s']:.1f} MB/s"
    )
    table = tabulate(rows, ("log", "scope", "points met", "final loss"), disable_numparse=True)
    return "\n\n".join(filter(None, (table, "\n".join(wrong), totals)))


def _text(progress: Progress | None) -> str:
    if progress is None:
        return "nothing"
    return (
        f"{progress.current:g} of {progress.total} ({progress.unit}, {progress.format}), epoch "
        f"{progress.epoch} of {progress.epochs}, batch {progress.batch} of {progress.batches}, "
        f"run {progress.run}"
    )


if __name__ == "__main__":
    sys.exit(main())
