"""List each folder once within one look at the jobs, and for a limited time in all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jobmon_core.observe.artifacts.listing import list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.domain.artifacts.model import Listing

_MAX_S = 2.0  # of one look: the helper process that also reads the logs has 20 s in all


class Listings:
    """The folders that were listed within one look, and how long that took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin a look; ``clock`` returns seconds."""
        self._clock, self._spent_s = clock, 0.0
        self._listed: dict[tuple[str, tuple[str, ...], bool, frozenset[str]], Listing] = {}

    @property
    def is_time_left(self) -> bool:
        """Whether another folder may be listed."""
        return self._spent_s < _MAX_S

    def list_files(
        self, folder: str, patterns: Iterable[str], *, folders: bool = False, without: Iterable[str] = ()
    ) -> Listing:
        """Return what `observe`'s `list_files` returned at the first call with these arguments."""
        names, others = tuple(patterns), frozenset(without)
        key = folder, names, folders, others
        if key not in self._listed:
            began_s = self._clock()
            self._listed[key] = list_files(folder, names, folders=folders, without=others)
            self._spent_s += self._clock() - began_s
        return self._listed[key]
