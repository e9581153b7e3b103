"""Processes that add runs to one history, and die at each step of it.

A profile function sees each call of the operating system in `append`, so the real function runs unchanged.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append

START_S = 1_795_900_000
_YEAR_S = 365 * 86_400.0
_SHORT_SHARE = 0.1  # of the writes, for which the file may not grow enough
_PAUSE_S = 0.005  # after a failure
NAMES = ("train", "a\nb", '"}\n{"job_id":1}', "=1+1", "\x1b[31mred", "ü\u2028\u202e", "")
# the call before or after which a process dies; "within" a write dies when a part of the line is written
STEPS = (
    ("before", "flock"),
    ("after", "flock"),
    ("before", "write"),
    ("within", "write"),
    ("after", "write"),
    ("before", "fsync"),
    ("after", "fsync"),
    ("before", "truncate"),
    ("after", "truncate"),
    ("before", "acknowledge"),
)
_CALLS = {"flock": "flock", "write": "write", "fsync": "fsync", "ftruncate": "truncate"}


@dataclass(frozen=True, slots=True)
class Writer:
    """Adds its runs one batch after the other, and notes each batch that was added."""

    folder: Path
    host: str
    number: int  # its job ids begin with it
    runs: int
    acknowledged: Path  # a file with the number of runs that were added

    def run(self, seed: int, step: tuple[str, str] | None) -> None:
        """Add the rest of the runs; with a step, die there at some point."""
        random = Random(seed)  # noqa: S311 - campaigns must be repeatable
        with self.acknowledged.open("ab", buffering=0) as file:
            done = self.done
            killer = _Killer(step, random.randint(1, 4)) if step else None
            while done < self.runs:
                count = min(random.choice((1, 1, 5)), self.runs - done)
                if self._add(random, done, count, killer):
                    done += count
                    if killer:
                        killer.reach("before", "acknowledge")
                    file.write(bytes(count))

    def _add(self, random: Random, done: int, count: int, killer: _Killer | None) -> bool:
        """Return whether runs were added; a full disk and a file that may grow no more prevent it."""
        jump_s = random.choice((0.0, 0.0, 0.0, -3_600.0, 40 * 86_400.0, -5 * _YEAR_S, 20 * _YEAR_S))
        now_s = START_S + done + jump_s
        records = [record_of(self.number, done + each, now_s) for each in range(count)]
        is_short = killer is not None and killer.tears
        if is_short or random.random() < _SHORT_SHARE:
            sizes = [path.stat().st_size for path in self.folder.glob(f"*.{self.host}.jsonl")]
            _limit_files(max(sizes, default=0) + random.randint(1, 600))
        if killer:
            sys.setprofile(killer.profile)
        try:
            append(self.folder, records, self.host, now_s)
        except StorageFailed:
            time.sleep(_PAUSE_S)
            return False
        finally:
            sys.setprofile(None)
            _limit_files(resource.RLIM_INFINITY)
        return True

    @property
    def done(self) -> int:
        """How many of its runs it knows to be added."""
        return self.acknowledged.stat().st_size if self.acknowledged.exists() else 0


def record_of(writer: int, number: int, now_s: float) -> HistoryRecord:
    """Return a run; what an earlier try wrote is the same but for the time."""
    job_id = writer * 1_000_000 + number
    name = NAMES[number % len(NAMES)]
    return HistoryRecord(
        job_id,
        START_S,
        now_s,
        cluster="leo",
        state_id=f"t-{job_id}",
        name=name,
        nodes="n[1-40]",
        ended_s=START_S + number,
        run_s=float(number),
        cpus=writer,
    )


def read_often(folder: Path) -> None:
    """Read the history again and again, which updates its index, until this process is killed."""
    while True:
        with open_history(folder) as history:
            assert history.damaged >= 0  # noqa: S101 - it is read


class _Killer:
    """Kills this process at a step."""

    def __init__(self, step: tuple[str, str], passes: int) -> None:
        self._step, self._passes = step, passes
        self.tears = step[0] == "within" or step[1] == "truncate"

    def profile(self, _frame: FrameType, event: str, function: object) -> None:
        """See each call of a function of C."""
        call = _CALLS.get(getattr(function, "__name__", ""))
        if call and event in ("c_call", "c_return", "c_exception"):
            moments = ("before",) if event == "c_call" else ("after", "within")
            for moment in moments:
                self.reach(moment, call)

    def reach(self, moment: str, call: str) -> None:
        """Die here if this is the step, and was passed often enough."""
        if (moment, call) == self._step:
            self._passes -= 1
            if self._passes <= 0:
                signal.raise_signal(signal.SIGKILL)


def _limit_files(size: float) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))


def start(work: Callable[[], None]) -> int:
    """Fork a process that does this work; return its PID."""
    pid = os.fork()
    if pid:
        return pid
    code = os.EX_SOFTWARE
    try:
        work()
        code = os.EX_OK
    finally:
        os._exit(code)
