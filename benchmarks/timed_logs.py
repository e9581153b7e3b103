"""Logs whose own lines tell when they were written, as recordings of what they showed at each moment.

A time is a date and time of day in a line, milliseconds of MLPerf, the training time that a line prints, or
the elapsed time of a tqdm bar. Of several kinds in one log, the one with the most lines is the clock. Logs
that several processes wrote at once have no clock of their own and are left out.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader

INDEX = "index.jsonl"
_LINE = re.compile(rb"[^\r\n]+[\r\n]*")
_TIME = rb"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_CLOCKS = (
    re.compile(rb"\A\W{0,4}(?P<year>20\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T]" + _TIME),
    re.compile(rb"(?P<day>\d\d)/(?P<month>\d\d)/(?P<year>\d\d) " + _TIME),
    re.compile(rb"\[HCTR\]\[" + _TIME),
    re.compile(rb'"time_ms": (?P<ms>\d{13})'),
    re.compile(rb"train_time:(?P<ms>\d+)ms"),
)
_BAR = re.compile(rb"/(\d+) \[(?:(\d+):)?(\d+):(\d\d)<")
_MIN_TIMES = 50
_COMPLETE = 0.99  # epochs may count from 0
_MAX_STEP_S, _MIN_PARTS = 30.0, 200  # a moment is kept for each interval of a monitor, or part of a short log


@dataclass(frozen=True, slots=True)
class Recording:
    """What a run showed, at each moment when it wrote."""

    name: str
    # seconds since the first time in its log, or since the start of a trace, and what it showed then
    states: tuple[tuple[float, Progress], ...]
    is_complete: bool  # it reached its total, so that its duration is that of the whole job

    @property
    def duration_s(self) -> float:
        """The time of the last state."""
        return self.states[-1][0]


@cache
def read_timed_logs(folder: Path) -> tuple[Recording, ...]:
    """Return a recording of each log that ``index.jsonl`` names and that shows progress and time.

    Raises:
        OSError, ValueError, KeyError: the index or a log cannot be read.
    """
    matcher, found = FormatMatcher.with_patterns({}), list[Recording]()
    for line in (folder / INDEX).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["interleaved"]:
            continue
        data = (folder / f"{entry['id']}.log").read_bytes()
        moments = _thinned(written_at(data))
        states = tuple(_states(data, moments, matcher))
        if states:
            found.append(Recording(entry["id"], states, (states[-1][1].fraction or 0.0) >= _COMPLETE))
    return tuple(found)


def written_at(data: bytes) -> list[tuple[float, int]]:
    """Return when, since its first time, a log had been written up to which byte; empty if not known."""
    lines = [(line.group(), line.end()) for line in _LINE.finditer(data)]
    found = [_clock(lines, regex) for regex in _CLOCKS] + [_bar_clock(lines)]
    found = [times for times in found if len(times) >= _MIN_TIMES and times[-1][0] > 0]
    return max(found, key=len, default=[])


def _clock(lines: Sequence[tuple[bytes, int]], regex: re.Pattern[bytes]) -> list[tuple[float, int]]:
    found = [(_seconds(match), end) for line, end in lines if (match := regex.search(line))]
    latest = itertools.accumulate((at_s for at_s, _ in found), max)  # a line may be older than the last
    return [(at_s - found[0][0], end) for at_s, (_, end) in zip(latest, found, strict=True)]


def _seconds(match: re.Match[bytes]) -> float:
    values = {name: int(text or 0) for name, text in match.groupdict().items()}
    days = date(values.get("year", 1) % 100 + 2000, values.get("month", 1), values.get("day", 1)).toordinal()
    clock_s = 3600 * values.get("hour", 0) + 60 * values.get("minute", 0) + values.get("second", 0)
    return 86_400 * days + clock_s + values.get("ms", 0) / 1000


def _bar_clock(lines: Sequence[tuple[bytes, int]]) -> list[tuple[float, int]]:
    """Return the elapsed times of the bars with one total, one after the other: those that take longest."""
    times: dict[bytes, list[tuple[float, int]]] = {}
    for line, end in lines:
        if bars := _BAR.findall(line):
            total, hours, minutes, seconds = bars[-1]
            elapsed_s = 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
            times.setdefault(total, []).append((elapsed_s, end))
    return max((_joined(each) for each in times.values()), key=lambda each: each[-1][0], default=[])


def _joined(times: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    base_s = last_s = 0.0
    joined = []
    for elapsed_s, end in times:
        if elapsed_s < last_s:  # the next bar
            base_s += last_s
        last_s = elapsed_s
        joined.append((base_s + elapsed_s, end))
    return joined


def _thinned(times: Sequence[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """Yield the last time of each interval: reading a log takes long."""
    if not times:
        return
    step_s = min(_MAX_STEP_S, times[-1][0] / _MIN_PARTS)
    for this, after in itertools.pairwise([*times, (math.inf, 0)]):
        if this[0] // step_s != after[0] // step_s:
            yield this


def _states(
    data: bytes, moments: Iterable[tuple[float, int]], matcher: FormatMatcher
) -> Iterator[tuple[float, Progress]]:
    reader, start = ProgressReader(matcher), 0
    for at_s, end in moments:
        reader.feed(data[start:end])
        start = end
        if progress := reader.progress:
            yield at_s, progress
