"""Check that no run of the history is lost or doubled while what writes it is killed.

It needs no Slurm::

    .venv/bin/python benchmarks/history_campaign.py --kills 200 --seed 1

Monitors of two hosts, two on each, add runs to one history at once. They are killed with SIGKILL at each step
of it: around the lock, the write, also in the middle of one, the fsync, the removal of what a failed write
left, and before they could note that it is done; then they try again, as a recovered monitor does. Some
writes fail since the file may grow no more, and from time to time the disk is full (which needs the right to
mount, else only the former). Clocks jump by hours, weeks and years, back and forth. Meanwhile two commands
read the history, which updates its index, and are killed, too. Names are hostile.

Bounds: each run is in the history once, as it was written, with the index that the commands left and with a
new one; only lines that a kill tore are damaged. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random

from benchmarks.figures import Figure, report
from benchmarks.history_parts.writers import STEPS, Writer, read_often, record_of, start
from benchmarks.options import options_parser
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.store.history.index import open_history
from tests.support.disk import SmallDisk, small_disk

_HOSTS = ("login1", "login2")
_WRITERS = 4
_READERS = 2
_STEP_S = 0.002
_FULL_SHARE = 0.1  # of the steps at which the disk becomes full, or gets room again


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if all bounds hold."""
    numbers = {
        "kills": (200, "writers to kill"),
        "runs": (400, "runs that each writer adds"),
        "seed": (1, "seed of the random numbers"),
        "limit": (600.0, "time limit in seconds"),
    }
    options = options_parser(__doc__, **numbers).parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="jobmon-history-") as name, ExitStack() as stack:
        disk = _disk(stack, Path(name) / "disk")
        campaign = Campaign(Path(name), disk, options.kills, options.runs, options.seed)
        campaign.run(options.limit)
        figures = [*campaign.figures()]
    return report(figures, as_json=options.json)


def _disk(stack: ExitStack, folder: Path) -> SmallDisk | None:
    import pytest

    try:
        return stack.enter_context(small_disk(folder, "4m"))
    except pytest.skip.Exception as error:
        print(f"the disk never becomes full: {error}", file=sys.stderr)
        return None


class Campaign:
    """The writers and readers of one history, and the kills."""

    def __init__(self, folder: Path, disk: SmallDisk | None, kills: int, runs: int, seed: int) -> None:
        """Prepare a campaign in an empty folder."""
        self._random = Random(seed)  # noqa: S311 - campaigns must be repeatable
        self._disk, self._kills = disk, kills
        self.folder = (disk.folder if disk else folder) / "history"
        self._writers = [
            Writer(self.folder, _HOSTS[number % len(_HOSTS)], number + 1, runs, folder / f"writer{number}")
            for number in range(_WRITERS)
        ]
        self._processes: dict[int, tuple[Writer, tuple[str, str] | None]] = {}
        self._readers: set[int] = set()
        self._planned = 0
        self._is_full = False
        self.killed: Counter[str] = Counter()
        self.killed_readers = self.filled = 0
        self.failed: list[int] = []  # exit codes that no process should have

    def run(self, limit_s: float) -> None:
        """Let the writers run until all is added and enough were killed; restart those that die."""
        deadline_s = time.monotonic() + limit_s
        for writer in self._writers:
            self._start(writer)
        while self._processes and time.monotonic() < deadline_s:
            self._reap()
            while len(self._readers) < _READERS and self.folder.exists():
                self._readers.add(start(lambda: read_often(self.folder)))
            if self._readers and self._random.random() < 0.05:  # noqa: PLR2004 - now and then
                os.kill(self._random.choice([*self._readers]), signal.SIGKILL)
            if self._disk and self._random.random() < _FULL_SHARE:
                (self._disk.free if self._is_full else self._disk.fill)()
                self._is_full = not self._is_full
                self.filled += self._is_full
            time.sleep(_STEP_S)
        if self._disk and self._is_full:
            self._disk.free()
        for pid in (*self._processes, *self._readers):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def figures(self) -> Iterator[Figure]:
        """Compare what is read with what was written."""
        expected = {
            record.key: record._replace(noted_s=0.0)
            for writer in self._writers
            for record in (record_of(writer.number, number, 0.0) for number in range(writer.runs))
        }
        yield Figure("writers killed", self.killed.total(), at_least=self._kills)
        for moment, call in STEPS:
            yield Figure(f"  {moment} {call}", self.killed[f"{moment} {call}"])
        yield Figure("commands killed while they read", self.killed_readers)
        yield Figure("times the disk was full", self.filled)
        yield Figure("processes that failed", len(self.failed), 0)
        lines = [line for path in self.folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]
        yield Figure("lines", len(lines))
        for index in ("the index", "a new index"):
            with open_history(self.folder) as history:
                found = history.records(Wanted())
                damaged = history.damaged
            keys = Counter(each.key for each in found)
            right = sum(expected.get(each.key) == each._replace(noted_s=0.0) for each in found)
            yield Figure(f"{index}: runs of {len(expected)} lost", len(expected.keys() - keys.keys()), 0)
            yield Figure(f"{index}: runs twice", sum(count - 1 for count in keys.values()), 0)
            yield Figure(f"{index}: runs that are not as written", len(found) - right, 0)
            yield Figure(
                f"{index}: damaged lines",
                damaged,
                self.killed["within write"] + self.killed["before truncate"],
            )
            (self.folder / "index.sqlite").unlink(missing_ok=True)

    def _start(self, writer: Writer) -> None:
        step = None
        if self.killed.total() + sum(bool(each) for _, each in self._processes.values()) < self._kills:
            step = STEPS[self._planned % len(STEPS)]
            self._planned += 1
        seed = self._random.randrange(2**32)
        self._processes[start(lambda: writer.run(seed, step))] = writer, step

    def _reap(self) -> None:
        for pid in [*self._processes, *self._readers]:
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done:
                continue
            code = os.waitstatus_to_exitcode(status)
            if code not in (0, -signal.SIGKILL):
                self.failed.append(code)
            if pid in self._readers:
                self._readers.remove(pid)
                self.killed_readers += 1
                continue
            writer, step = self._processes.pop(pid)
            if code == -signal.SIGKILL and step:
                self.killed[" ".join(step)] += 1
            if code:
                self._start(writer)


if __name__ == "__main__":
    sys.exit(main())
