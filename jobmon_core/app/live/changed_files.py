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
        self._contents: dict[Path, tuple[Stamp | None, T]] = {}

    def contents(self, paths: Sequence[Path]) -> list[T]:
        """Return the content of each file; those of all other files are no longer kept."""
        self._contents = {path: self._content(path) for path in paths}
        return [content for _, content in self._contents.values()]

    def content(self, path: Path) -> T:
        """Return the content of one file; it is kept until `contents` is called."""
        self._contents[path] = self._content(path)
        return self._contents[path][1]

    def _content(self, path: Path) -> tuple[Stamp | None, T]:
        stamp = file_stamp(path)  # before the content, so that a later change is seen
        known = self._contents.get(path)
        return known if known and known[0] == stamp else (stamp, self._read(path))
