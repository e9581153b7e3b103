"""One look at a place with files of a tracker: what was added since the last one is read on."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import size
from jobmon_core.domain.logs.tracker import Position, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.logs.scan_dirs import FoundFile, ScanBudget, find_files, stat_own_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobmon_core.domain.logs.tracker import Tracker

    # reads what begins at an offset of a file of some size; yields where each whole record ends, maybe beyond
    ReadOn = Callable[[bytes, int, int], Iterator[int]]

MAX_RUNS = 8  # of a place, the latest
MAX_BYTES = 4 * 2**20  # of a look
CHUNK = 2**18
_MAX_ENTRIES = 10_000  # of the folders at and below a place


class Damaged(ValueError):
    """A file is not what it should be. The text completes a sentence that starts with the file."""


@dataclass(slots=True)
class Look:
    """A place, what was known of its runs, and how much may still be read there."""

    tracker: Tracker
    place: str
    before: tuple[TrackerRun, ...] = ()
    chosen: tuple[str, ...] = ()
    left: int = MAX_BYTES

    def files(self, accepts: Callable[[str], bool], levels: int) -> list[FoundFile]:
        """Return the user's files there: the place if it is a file, else those with an accepted name."""
        if (alone := stat_own_file(self.place)) is not None:
            return [alone] if accepts(os.path.basename(self.place)) else []  # noqa: PTH119 - a text
        return find_files(self.place, accepts, ScanBudget(_MAX_ENTRIES), levels)

    def groups(
        self, accepts: Callable[[str], bool], levels: int, key_of: Callable[[str], str]
    ) -> list[tuple[str, list[FoundFile]]]:
        """Return the files with one key of their path, each group sorted, the latest group first."""
        groups: dict[str, list[FoundFile]] = defaultdict(list)
        for file in sorted(self.files(accepts, levels), key=lambda file: file.path):
            groups[key_of(file.path)].append(file)
        return sorted(groups.items(), key=lambda group: -max(file.modified_ns for file in group[1]))[
            :MAX_RUNS
        ]

    def name_of(self, path: str) -> str:
        """Return a path below the place; the name of the place if it is the place."""
        return path[len(self.place) :].strip("/") or os.path.basename(path.rstrip("/"))  # noqa: PTH119 - a text

    def run(self, run_id: str, place: str, files: Iterable[FoundFile] = ()) -> TrackerRun:
        """Return the run to read on in, as it was; a new one if one of its files was replaced."""
        inodes = {file.path: file.identity[1] for file in files}
        for run in self.before:
            is_same = all(each.stamp == inodes.get(path, each.stamp) for path, each in run.read.items())
            if run.run_id == run_id and is_same:
                return replace(run, place=place, metrics=dict(run.metrics), read=dict(run.read), partial="")
        return TrackerRun(self.tracker, run_id, place=place, chosen=self.chosen)

    def read_on(self, run: TrackerRun, file: FoundFile, read: ReadOn) -> None:
        """Let ``read`` go on with a file of a run; `partial` says why its rest is not read."""
        at, why = run.read.get(file.path, Position(0)).offset, ""
        if at > file.size_bytes:  # it was cut, or begun anew in its place
            at = 0
        try:
            with regular_file(file.path) as opened:
                while at < opened.size and self.left > 0:
                    begin = at
                    data = opened.read_at(at, CHUNK)
                    self.left -= len(data)
                    for at in read(data, begin, opened.size):  # noqa: B007 - where the last record ends
                        pass
                    if at == begin:
                        break
                if self.left <= 0 and at < opened.size:
                    why = f": the last {size(opened.size - at)} are not read yet"
        except (Unreadable, Damaged) as error:
            why = f" {error}"
        run.read[file.path] = Position(file.identity[1], at)
        if why and not run.partial:
            run.partial = f"{self.name_of(file.path)}{why}"
