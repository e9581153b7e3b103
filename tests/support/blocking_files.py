"""Folders, links, pipes, devices and foreign files that take the place of a file of jobmon."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

STRANGER = 12345  # a user id that does not exist
KINDS = ("folder", "full folder", "link", "pipe", "device", "foreign file")


def lay(path: Path, kind: str) -> None:
    """Create one of ``KINDS`` at ``path``; skip the test if that needs root."""
    if kind in ("device", "foreign file") and os.getuid() != 0:
        pytest.skip("only root can make that")
    if kind == "folder":
        path.mkdir()
    elif kind == "full folder":
        path.mkdir()
        (path / "precious").touch()
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("making a device is not permitted here")
    else:
        path.touch(mode=0o600)
        os.chown(path, STRANGER, STRANGER)
