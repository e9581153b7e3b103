"""One look at a place with files that grow: each is read on where the last look stopped."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import size
from jobmon_core.domain.logs.tracker import Cursor, Position, TrackerRun
from jobmon_core.observe.logs.open_file import RegularFile, Unreadable, regular_file
from jobmon_core.observe.logs.scan_dirs import FoundFile, ScanBudget, find_files, stat_own_file
from jobmon_core.observe.trackers.protobuf import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobmon_core.observe.trackers.building import Limits

    # reads a file from an offset, as far as it may; yields where each whole record ends
    ReadOn = Callable[["OpenFile", int], Iterator[int]]
    Found = tuple[tuple[TrackerRun, ...], Cursor]

_MAX_ENTRIES = 10_000  # of the folders at and below a place


@dataclass(slots=True)
class OpenFile:
    """A file of which a bounded number of bytes is read."""

    file: RegularFile
    left: int  # bytes; a reader that has begun a record may finish it

    @property
    def size(self) -> int:
        """Its size in bytes, when it was opened."""
        return self.file.size

    def read_at(self, offset: int, count: int) -> bytes:
        """Return ``count`` bytes, fewer only at the end."""
        data = self.file.read_at(offset, min(count, self.file.size - offset))
        self.left -= len(data)
        return data


def files_below(place: str, accepts: Callable[[str], bool], levels: int) -> list[FoundFile]:
    """Return the user's files at ``place``: itself if it is a file, else those with an accepted name."""
    if (alone := stat_own_file(place)) is not None:
        return [alone] if accepts(os.path.basename(place)) else []  # noqa: PTH119 - a text
    return find_files(place, accepts, ScanBudget(_MAX_ENTRIES), levels)


def look_at_groups(
    look: Look,
    accepts: Callable[[str], bool],
    levels: int,
    key_of: Callable[[FoundFile], str],
    run_of: Callable[[str, list[FoundFile], Look], TrackerRun | None],
) -> Found:
    """Return the runs of which each wrote the files with one key, the latest first, up to the limit."""
    groups: dict[str, list[FoundFile]] = defaultdict(list)
    for file in files_below(look.place, accepts, levels):
        groups[key_of(file)].append(file)
    for key in sorted(groups, key=lambda each: -max(file.modified_ns for file in groups[each])):
        if len(look.runs) >= look.limits.max_runs:
            break
        if (run := run_of(key, groups[key], look)) is not None:
            look.runs.append(run)
    return look.result()


@dataclass(slots=True)
class Look:
    """What a look reads: the runs so far, and where each file is to be read on."""

    place: str
    before: Cursor | None
    limits: Limits
    runs: list[TrackerRun] = field(default_factory=list)
    _positions: dict[str, Position] = field(default_factory=dict)
    _left: int = field(init=False)  # bytes that may still be read

    def __post_init__(self) -> None:
        self._left = self.limits.max_bytes

    def name_of(self, path: str) -> str:
        """Return a path below the place; the name of the place if it is the place."""
        name = path[len(self.place) :].strip("/") if path.startswith(self.place) else path
        return name or os.path.basename(path.rstrip("/"))  # noqa: PTH119 - a text

    def known(self, run_id: str, files: Iterable[FoundFile]) -> TrackerRun | None:
        """Return the run as it was; None if it is new, or one of its files was replaced: it is read again."""
        if self.before is None or any(is_another(each, self.position_before(each)) for each in files):
            return None
        return next((run for run in self.before.runs if run.run_id == run_id), None)

    def read_on(self, file: FoundFile, run: TrackerRun | None, read: ReadOn) -> str:
        """Let ``read`` go on with a file of a run, from its start if the run is not known; see `known`.

        Returns:
            why its rest is not read; empty if all was.
        """
        name = self.name_of(file.path)
        before = self.position_before(file) if run else Position()
        now = position(file)._replace(offset=before.offset, why=before.why)
        if now != before or not (before.why or before.offset == file.size_bytes):
            now = self._read(file.path, now._replace(why=""), read)
        self._positions[name] = now
        if now.why:
            return f"{name} {now.why}"
        if self._left <= 0 and now.offset < now.size:
            left = size(now.size - now.offset)
            return f"{name}: the last {left} are not read yet"
        return ""

    def position_before(self, file: FoundFile) -> Position:
        """Return where reading a file stopped before."""
        before = self.before.files if self.before else {}
        return before.get(self.name_of(file.path), Position())

    def runs_at(self, file: FoundFile) -> list[TrackerRun]:
        """Return the runs that were read from a file before, unless it was replaced."""
        if self.before is None or is_another(file, self.position_before(file)):
            return []
        return [run for run in self.before.runs if run.place == file.path and run.run_id]

    def keep(self, file: FoundFile, position: Position, runs: Iterable[TrackerRun]) -> None:
        """Note what was read from a file that holds whole runs."""
        self._positions[self.name_of(file.path)] = position
        self.runs.extend(runs)

    def _read(self, path: str, position: Position, read: ReadOn) -> Position:
        offset, why = position.offset, ""
        try:
            with regular_file(path) as file:
                opened = OpenFile(file, self._left)
                try:
                    for offset in read(opened, offset):  # noqa: B007, B020 - where the last record ends
                        pass
                finally:
                    self._left = opened.left
        except (Unreadable, Damaged) as error:
            why = str(error)
        return position._replace(offset=offset, why=why)

    def result(self) -> Found:
        """Return the runs, and what the next look needs."""
        runs = tuple(self.runs)
        return runs, Cursor(self._positions, runs)


def position(file: FoundFile) -> Position:
    """Return the position at the start of a file, as it is now."""
    return Position(0, file.identity[1], file.size_bytes, file.modified_ns)


def is_another(file: FoundFile, before: Position) -> bool:
    """Whether a file is not that which was read before, or was cut since."""
    return before.inode not in (0, file.identity[1]) or before.size > file.size_bytes
