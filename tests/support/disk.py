"""A small disk that a test can fill."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A mounted disk; ``folder`` is its root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Fill the disk."""
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    continue
            except OSError:
                return

    def free(self) -> None:
        """Free the space again."""
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path, size: str = "256k") -> Iterator[SmallDisk]:
    """Mount a small disk over a folder; skip the test if that is not permitted."""
    folder.mkdir(exist_ok=True)
    mount, umount = shutil.which("mount"), shutil.which("umount")
    options = ("-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder))
    if (
        not mount
        or not umount
        or subprocess.run([mount, *options], capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting a small disk is not permitted here")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run([umount, "-l", str(folder)], check=True)
