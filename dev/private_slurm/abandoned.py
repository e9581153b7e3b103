"""Folders of clusters, and the clean-up after clusters whose owner was killed.

The owner of a cluster holds a lock on a file in the cluster's folder; the kernel releases it when the owner
dies.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from . import processes
from .configuration import Settings
from .errors import PrivateSlurmError
from .layout import LONGEST_FOLDER, Layout

PREFIX = "jobmon-slurm-"


def new_folder() -> Path:
    """Create a folder for one cluster, in the place that ``sweep`` searches."""
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=_base()))


def _base() -> Path:
    """Return the folder for temporary files, or /tmp if its path is too long or closed to other users."""
    usual = Path(tempfile.gettempdir()).resolve()
    short_enough = len(f"{usual}/{PREFIX}12345678") <= LONGEST_FOLDER
    open_to_all = all(path.stat().st_mode & stat.S_IXOTH for path in (usual, *usual.parents))
    return usual if short_enough and open_to_all else Path("/tmp")  # noqa: S108 - mkdtemp makes the folder in it


def lock(layout: Layout) -> IO[str]:
    """Make this process the cluster's owner until the returned file is closed."""
    locked = layout.owner.with_suffix(".new").open("w")
    fcntl.flock(locked, fcntl.LOCK_EX)
    Path(locked.name).rename(layout.owner)  # so that ``sweep`` never finds an unlocked file of a living owner
    return locked


def sweep() -> None:
    """Remove the clusters without a living owner. Folders kept on purpose have no owner file."""
    for folder in _base().glob(f"{PREFIX}*"):
        layout = Layout(folder)
        with suppress(OSError):  # no owner file, owner alive, or another process is sweeping
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            with layout.owner.open() as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(PrivateSlurmError):  # without a description, no process was started
                    processes.kill_cluster(Settings.read(layout.description))
                shutil.rmtree(folder, ignore_errors=True)
