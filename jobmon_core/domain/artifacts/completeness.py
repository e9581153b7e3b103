"""Whether the files of a folder are all there and whole, judged by a source, their formats and records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from jobmon_core.domain.artifacts.model import FileCheck, ListedFile

_TEMPORARY = re.compile(r"(?:^|/)\.[^/]+\.\w{6}$|\.(?:part|partial|tmp|filepart|crdownload)$")
_QUIET_S = 60.0  # a file that was modified less long ago may still be being copied


class Depth(StrEnum):
    """What of the files is compared with the source."""

    COUNT = "count"  # their names, and so their number
    SIZE = "size"
    SHA256 = "sha256"  # their content


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that is not as in the source."""

    name: str
    size_bytes: int
    expected_bytes: int
    modified_s: float
    quiet_s: float  # for how long nothing has been written to it

    @property
    def is_stopped(self) -> bool:
        """Whether it seems to be a copy that stopped before its end."""
        return self.size_bytes < self.expected_bytes and self.quiet_s >= _QUIET_S

    @property
    def is_growing(self) -> bool:
        """Whether it may still be copied."""
        return self.size_bytes < self.expected_bytes and self.quiet_s < _QUIET_S


@dataclass(frozen=True, slots=True)
class Completeness:
    """The verdict on a folder. Names are paths within it; None means "not asked for"."""

    folder: str
    count: int = 0  # of files
    size_bytes: int = 0
    source: str = ""
    source_count: int | None = None
    depth: Depth = Depth.SIZE
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    different: tuple[Difference, ...] = ()
    damaged: tuple[FileCheck, ...] = ()
    unreadable: tuple[FileCheck, ...] = ()
    odd: tuple[FileCheck, ...] = ()  # whole files with odd values, e.g. many that are NaN
    not_checked: int = 0  # files whose content was not checked: e.g. in a format that jobmon cannot check
    records: int | None = None
    records_unknown: int = 0
    expected_records: int | None = None
    is_partial: bool = False
    problem: str = ""

    @property
    def is_unreadable(self) -> bool:
        """Whether something could not be read, so that nothing proves the folder complete."""
        return bool(self.problem or self.unreadable or self.is_partial)

    @property
    def is_incomplete(self) -> bool:
        """Whether files are missing, different or damaged, the counted records too few, or no files there."""
        lacks_records = self.expected_records is not None and (self.records or 0) < self.expected_records
        lacks_files = self.missing or self.different or self.damaged or not (self.count or self.problem)
        return bool(lacks_files or lacks_records)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for is there and whole."""
        return not (self.is_unreadable or self.is_incomplete)


def compare(
    found: Completeness,
    own: Mapping[str, ListedFile],
    source: Mapping[str, ListedFile],
    now_s: float,
    other_content: Iterable[str] = (),
) -> Completeness:
    """Return the verdict with what differs from the source, at the depth of the verdict."""
    changed = set(other_content)
    different = [
        Difference(name, file.size_bytes, source[name].size_bytes, file.modified_s, now_s - file.modified_s)
        for name, file in own.items()
        if name in source
        and found.depth is not Depth.COUNT
        and (file.size_bytes != source[name].size_bytes or name in changed)
    ]
    return replace(
        found,
        source_count=len(source),
        missing=tuple(sorted(source.keys() - own.keys())),
        extra=tuple(sorted(own.keys() - source.keys())),
        different=tuple(sorted(different, key=lambda each: each.name)),
    )


def is_unfinished_copy(name: str) -> bool:
    """Whether rsync, WinSCP or a browser gives such a name to a copy until it is finished."""
    return _TEMPORARY.search(name) is not None
