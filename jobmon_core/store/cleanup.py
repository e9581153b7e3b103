"""What does not belong into jobmon's folders: files that a killed writer began, links that somebody laid."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from jobmon_core.system.file_checks import blocking_file
from jobmon_core.system.files import writing_host
from jobmon_core.system.process import start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8})-([0-9]+)-([0-9]+)\.tmp", re.DOTALL)
# what is made and replaced at any time, and holds no history
_OURS = (".lock", ".owner", ".heir", ".reply", ".lane", ".notice", ".dead", ".drop")
_SWEPT = (".tmp", *_OURS)


def clean_up(folder: Path) -> Iterator[tuple[Path, str]]:
    """Remove what no living process of this host writes any more, and links; yield what, in words.

    What else is no file of ours is told, and stays. What another host writes is left to that host, and a
    state file that is a link to who reads it.
    """
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - a thousand names, of which few become paths
        if not name.endswith(_SWEPT):
            continue
        path = folder / name
        if path.is_symlink() and path.suffix in _OURS:
            what = "a symbolic link, which jobmon never follows"
        elif _is_abandoned(path.name):
            what = "what a process that was killed began to write"
        else:
            if what := blocking_file(path):
                yield path, what
            continue
        try:
            path.unlink()
        except OSError:
            continue  # another one removed it, or nobody can: it is in nobody's way
        yield path, f"removed: {what}"


def _is_abandoned(name: str) -> bool:
    found = _TEMPORARY.fullmatch(name)
    if found is None or found[1] != writing_host():
        return False
    return start_ticks(int(found[2])) != int(found[3])
