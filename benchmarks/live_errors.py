"""Count the errors that are reported about running jobs: false ones about ordinary runs, and real failures.

    .venv/bin/python benchmarks/live_errors.py LOGS CORPUS.jsonl [--looks N] [--json]

LOGS holds ordinary logs with an ``index.jsonl``, CORPUS labelled failures (see `benchmarks/corpus.py`). Each
log is written piece by piece and looked at as by a monitor, at equal intervals: a log of LOGS N times, a log
of CORPUS 20 times, both four times more after the last line, and again 3 seconds after a look that found a
failure.

- ``false``: errors that are reported about ordinary runs, in CORPUS those with the label clean.
  ``as written``: a log is written at the times that its lines show (see `benchmarks/timed_logs.py`), else
  evenly. ``quiet``: it gets a piece before each look and is then silent, so that any line may be the last one
  for a while.
- ``reported``: of the failures of CORPUS, without those of the scheduler, how many are reported, given that
  the job hangs after its last line; ``right``: with the label of the cause; ``before the last line``: with
  that label, while some of the log was still to come.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.corpus import CorpusInvalid, read_corpus
from benchmarks.options import options_parser
from benchmarks.timed_logs import INDEX, written_at
from jobmon_core.analysis.progress import follow_progress
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN, SCHEDULER_LABELS, label_of
from jobmon_core.domain.logs.progress.events.event import Event, EventKind, Followed
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState

INTERVAL_S = 30.0
_START_S = 1_700_000_000.0
_QUIET_LOOKS = 4  # after the last line
_LOOKS_AT_FAILURE = 20  # these logs are short
_STATE_ID = "slurm-7-x"

Writing = Sequence[tuple[float, int]]  # when, in seconds since the start, a log has so many bytes


@dataclass(frozen=True, slots=True)
class Found:
    """An error that was reported, or withdrawn."""

    event: Event
    written: int  # bytes of the log by then


def evenly(size: int, looks: int) -> Writing:
    """Return the writing of a log that grows at a constant rate."""
    seconds = int(INTERVAL_S) * looks
    return [(float(second), size * second // seconds) for second in range(1, seconds + 1)]


def quietly(data: bytes, looks: int) -> Writing:
    """Return the writing of a log that gets some lines just before each look, and is then silent."""
    ends = (len(data) * look // looks for look in range(1, looks + 1))
    whole = (data.find(b"\n", end - 1) + 1 or len(data) for end in ends)
    return [(INTERVAL_S * look - 1, end) for look, end in enumerate(whole, 1)]


def as_written(data: bytes) -> Writing:
    """Return when a log was written, by its own lines; empty if that is not known."""
    times = written_at(data)
    return [*times, (times[-1][0], len(data))] if times else ()


class RunningJob:
    """A job whose log is written in a folder, and whose monitor looks at it."""

    def __init__(self, data: bytes, writing: Writing, folder: Path) -> None:
        """Begin with an empty log."""
        self.written, self.now_s = 0, 0.0  # bytes; seconds since the start
        self._data, self._writing = data, list(reversed(writing))
        self._log, self._record = folder / "train.log", folder / "progress.json"
        self._record.unlink(missing_ok=True)
        self._log.write_bytes(b"")
        task = Task("", JobState.RUNNING, "RUNNING", start_s=int(_START_S))
        paths = LogPaths(str(self._log), str(self._log), source="user")
        self._job = WatchedJob(_STATE_ID, 7, _START_S, tasks={"": task}, logs=paths)

    def look(self, now_s: float) -> Followed:
        """Write what the job has written by now, and return what a look at it finds."""
        size = self.written
        while self._writing and self._writing[-1][0] <= now_s:
            size = self._writing.pop()[1]
        if size > self.written:
            with self._log.open("ab") as file:
                file.write(self._data[self.written : size])
            os.utime(self._log, (_START_S + now_s, _START_S + now_s))
        self.written, self.now_s = size, now_s
        followed = follow_progress([self._job], lambda _: self._record, _START_S + now_s)[_STATE_ID]
        if followed.problem:
            raise RuntimeError(followed.problem)
        return followed


def replay(data: bytes, writing: Writing, looks: int, folder: Path) -> Iterator[Found]:
    """Write a log piece by piece and yield what is reported about it, until some looks after its end."""
    job, told = RunningJob(data, writing, folder), 0
    interval_s = max(INTERVAL_S, writing[-1][0] / looks)
    for look in range(1, looks + _QUIET_LOOKS + 1):
        followed = job.look(look * interval_s)
        while followed.recheck_s and job.now_s < followed.recheck_s - _START_S:
            followed = job.look(followed.recheck_s - _START_S)
        errors = [each for each in followed.events if EventKind.ERROR in (each.kind, each.ended)]
        yield from (Found(each, job.written) for each in errors[told:])
        told = len(errors)


def ordinary(folder: Path, scratch: Path, looks: int) -> dict[str, Any]:
    """Return the errors that are reported about the logs of ``index.jsonl``.

    Raises:
        OSError, ValueError, KeyError: the index or a log cannot be read.
    """
    names = [json.loads(line)["id"] for line in (folder / INDEX).read_text(encoding="utf-8").splitlines()]
    found: dict[str, list[str]] = {"as written": [], "quiet": []}
    withdrawn = 0
    for name in names:
        data = (folder / f"{name}.log").read_bytes()
        for kind, writing in (
            ("as written", as_written(data) or evenly(len(data), looks)),
            ("quiet", quietly(data, looks)),
        ):
            events = [each.event for each in replay(data, writing, looks, scratch)]
            found[kind] += [f"{name}: {each.text}" for each in events if each.kind is EventKind.ERROR]
            withdrawn += sum(each.kind is EventKind.RECOVERED for each in events)
    return {"logs": len(names), "false": found, "withdrawn": withdrawn}


def failures(corpus: Path, scratch: Path) -> dict[str, Any]:
    """Return how many failures of a corpus are reported early.

    Raises:
        CorpusInvalid: it cannot be read.
    """
    false, missed, wrong = list[str](), list[str](), list[str]()
    total = early = 0
    for case in read_corpus(corpus):
        if case.label in SCHEDULER_LABELS:
            continue
        data = case.log.encode("utf-8", "replace")
        writing = evenly(len(data), _LOOKS_AT_FAILURE)
        replayed = replay(data, writing, _LOOKS_AT_FAILURE, scratch)
        found = [each for each in replayed if each.event.kind is EventKind.ERROR]
        if case.label == CLEAN:
            false += [f"{case.id}: {each.event.text}" for each in found]
            continue
        total += 1
        labels = {label_of(each.event.subject): each.written < len(data) for each in reversed(found)}
        early += labels.get(case.label, False)
        if not found:
            missed.append(f"{case.id}: {case.label}")
        elif case.label not in labels:
            wrong.append(f"{case.id}: {case.label}, not {', '.join(sorted(labels))}")
    reported = total - len(missed)
    return {
        "failures": total,
        "reported": reported,
        "right": reported - len(wrong),
        "before the last line": early,
        "false": false,
        "missed": missed,
        "wrong": wrong,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; return 2 if the logs cannot be read."""
    parser = options_parser(__doc__ or "", looks=(200, "how often to look at each ordinary log"))
    parser.add_argument("logs", type=Path, metavar="LOGS", help="the folder of index.jsonl and its logs")
    parser.add_argument("corpus", type=Path, metavar="CORPUS.jsonl", help="labelled failures")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            plain = ordinary(options.logs, Path(scratch), options.looks)
            real = failures(options.corpus, Path(scratch))
        except (CorpusInvalid, OSError, ValueError, KeyError) as error:
            print(f"live_errors.py: {error!r}", file=sys.stderr)
            return 2
    false = {kind: len(texts) for kind, texts in plain["false"].items()}
    print(tabulate([{"logs": plain["logs"], **false, "withdrawn": plain["withdrawn"]}], headers="keys"))
    lists = ("false", "missed", "wrong")
    print(tabulate([{**real, **{key: len(real[key]) for key in lists}}], headers="keys"))
    for name, texts in (*plain["false"].items(), *((key, real[key]) for key in lists)):
        for text in texts:
            print(f"  {name}: {text}")
    if options.json:
        print(json.dumps({"ordinary": plain, "failures": real}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
