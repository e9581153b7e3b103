"""Read files again only after they have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jobmon_core.system.files import Stamp

T = TypeVar("T")


class ChangedFiles(Generic[T]):
    """The content of files as of their last change."""

    def __init__(self, read: Callable[[Path], T]) -> None:
        """Read with ``read``, which returns a value for a missing file too."""
        self._read = read
        self._before: dict[Path, tuple[Stamp | None, T]] = {}
        self._contents: dict[Path, tuple[Stamp | None, T]] = {}

    def begin_look(self) -> None:
        """Forget the files that were not asked for since the last call."""
        self._before, self._contents = self._contents, {}

    def contents(self, paths: Sequence[Path]) -> list[T]:
        """Return the content of each file; those of all others are forgotten."""
        self.begin_look()
        return [self.content(path) for path in paths]

    def content(self, path: Path) -> T:
        """Return the content of one file."""
        stamp = file_stamp(path)  # before the content, so that a later change is seen
        known = self._contents.get(path) or self._before.get(path)
        if known is None or known[0] != stamp:
            known = stamp, self._read(path)
        self._contents[path] = known
        return known[1]
