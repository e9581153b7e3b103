"""Count the errors that are reported about running jobs: false ones about ordinary runs, and real failures.

    .venv/bin/python benchmarks/live_errors.py LOGS CORPUS.jsonl [--json]

LOGS holds ordinary logs with an ``index.jsonl``, CORPUS labelled failures (see `benchmarks/corpus.py`). Each
log is written piece by piece, and looked at every 30 seconds, and again 3 seconds after a look that found a
failure, as by a monitor. A log whose lines show when they were written (see `benchmarks/timed_logs.py`) is
written then, any other one evenly within 200 intervals; with ``quiet``, each log pauses for an interval after
each of 200 pieces, so that any line may be the last one for a while.

- ``false``: errors that are reported about ordinary runs, in CORPUS those with the label clean.
- ``reported``: of the failures that a job cannot report by its end alone (those of the scheduler are left
  out), how many are reported if the job hangs after its last line; ``right``: with the label of the cause;
  ``before the end``: while its last lines were still to come.
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
from jobmon_core.domain.diagnosis.patterns import CLEAN, SCHEDULER_LABELS, label_of
from jobmon_core.domain.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.model import Task, WatchedJob

INTERVAL_S = 30.0
LOOKS = 200
_START_S = 1_700_000_000.0
_QUIET_LOOKS = 4  # after the last line
_STATE_ID = "slurm-7-x"

Writing = Sequence[tuple[float, int]]  # when, in seconds since the start, a log has so many bytes


@dataclass(frozen=True, slots=True)
class Found:
    """An error that was reported, or withdrawn."""

    event: Event
    written: int  # bytes of the log by then


def evenly(size: int, looks: int = LOOKS) -> Writing:
    """Return the writing of a log that grows by the same number of bytes in each interval."""
    parts = 30 * looks
    return [(INTERVAL_S * looks * part / parts, size * part // parts) for part in range(1, parts + 1)]


def quietly(size: int, looks: int = LOOKS) -> Writing:
    """Return the writing of a log that gets one piece just before each look, and is then silent."""
    return [(INTERVAL_S * part - 1, size * part // looks) for part in range(1, looks + 1)]


def replay(data: bytes, writing: Writing, folder: Path) -> Iterator[Found]:
    """Write a log piece by piece and yield what is reported about it, until some looks after its end."""
    log = folder / "train.log"
    log.unlink(missing_ok=True)
    record = folder / "progress.json"
    record.unlink(missing_ok=True)
    task = Task("", JobState.RUNNING, "RUNNING", start_s=int(_START_S))
    job = WatchedJob(
        _STATE_ID, 7, _START_S, tasks={"": task}, logs=LogPaths(str(log), str(log), source="user")
    )
    pending, written, told, now_s = iter(writing), 0, 0, 0.0
    at_s, size = next(pending, (0.0, 0))
    last_s = writing[-1][0] if writing else 0.0
    regular_s = now_s = INTERVAL_S
    with log.open("ab") as file:
        while now_s < last_s + (_QUIET_LOOKS + 1) * INTERVAL_S:
            while written < size and at_s <= now_s:
                file.write(data[written:size])
                written = size
                at_s, size = next(pending, (at_s, size))
            file.flush()
            os.utime(log, (_START_S + now_s, _START_S + now_s))
            followed = follow_progress([job], lambda _: record, _START_S + now_s)[_STATE_ID]
            if followed.problem:
                raise RuntimeError(followed.problem)
            errors = [each for each in followed.events if EventKind.ERROR in (each.kind, each.ended)]
            yield from (Found(each, written) for each in errors[told:])
            told = len(errors)
            regular_s += INTERVAL_S if now_s >= regular_s else 0.0
            recheck_s = followed.recheck_s - _START_S if followed.recheck_s else regular_s
            now_s = min(regular_s, recheck_s) if recheck_s > now_s else regular_s


def ordinary(folder: Path, scratch: Path) -> dict[str, Any]:
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
            ("as written", written_at(data) or evenly(len(data))),
            ("quiet", quietly(len(data))),
        ):
            events = [each.event for each in replay(data, writing, scratch)]
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
        found = [
            each
            for each in replay(data, evenly(len(data), 20), scratch)
            if each.event.kind is EventKind.ERROR
        ]
        if case.label == CLEAN:
            false += [f"{case.id}: {each.event.text}" for each in found]
            continue
        total += 1
        labels = {label_of(each.event.subject) for each in found}
        early += any(
            each.written < len(data) and label_of(each.event.subject) == case.label for each in found
        )
        if not found:
            missed.append(f"{case.id}: {case.label}")
        elif case.label not in labels:
            wrong.append(f"{case.id}: {case.label}, not {', '.join(sorted(labels))}")
    reported = total - len(missed)
    return {
        "failures": total,
        "reported": reported,
        "right": reported - len(wrong),
        "before the end": early,
        "false": false,
        "missed": missed,
        "wrong": wrong,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; return 2 if the logs cannot be read."""
    parser = options_parser(__doc__ or "")
    parser.add_argument("logs", type=Path, metavar="LOGS", help="the folder of index.jsonl and its logs")
    parser.add_argument("corpus", type=Path, metavar="CORPUS.jsonl", help="labelled failures")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            plain = ordinary(options.logs, Path(scratch))
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
