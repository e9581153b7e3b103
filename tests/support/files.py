"""The files of a folder in which a monitor may be writing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file that others may be reading: they see the earlier one, or all of this one."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.chmod(mode)
    new.replace(path)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return the content of the files below a folder, without those that are removed meanwhile."""
    found = {}
    for root, _, names in os.walk(folder):
        for path in (Path(root, name) for name in names):
            with suppress(FileNotFoundError):
                if path.is_file():
                    found[path] = path.read_bytes()
    return found


def open_files(pid: int) -> list[str]:
    """Return the open files of a process, without those that are closed meanwhile."""
    found = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(descriptor.readlink()))
    return sorted(found)
