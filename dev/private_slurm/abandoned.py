"""Folders of clusters, and clusters whose owner was killed before it could stop them."""

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from . import description, traces
from .errors import PrivateSlurmError
from .layout import LONGEST_FOLDER, Layout
from .processes import Process

PREFIX = "jobmon-slurm-"


def new_folder() -> Path:
    """A folder for one cluster, where ``sweep`` will look."""
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=_base()))


def _base() -> Path:
    """The usual place for temporary folders, unless sockets have too long a path there or users no access."""
    usual = Path(tempfile.gettempdir()).resolve()
    suits = len(f"{usual}/{PREFIX}12345678") <= LONGEST_FOLDER and all(
        map(_open_to_all, (usual, *usual.parents))
    )
    return usual if suits else Path("/tmp")  # noqa: S108 - mkdtemp makes the folder in it


def _open_to_all(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def note_owner(layout: Layout) -> None:
    """Write down that this process answers for the cluster."""
    layout.owner.write_text(f"{_namespace()} {Process.find(os.getpid())}")


def sweep() -> None:
    """Remove what clusters left behind whose owner is gone; those kept on purpose have no owner noted."""
    for folder in _base().glob(f"{PREFIX}*"):
        layout = Layout(folder)
        if _is_abandoned(layout):
            with suppress(PrivateSlurmError):  # not yet, or no longer, described: nothing runs
                traces.erase(description.read(layout.description))
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(layout: Layout) -> bool:
    """Whether the folder is ours and its owner certainly dead: pids say nothing about another container's."""
    try:
        ours = layout.folder.lstat().st_uid == os.getuid() and not layout.folder.is_symlink()
        namespace, _, identity = layout.owner.read_text().partition(" ")
    except OSError:
        return False
    owner = Process.parse(identity)
    return ours and namespace == _namespace() and owner is not None and not owner.alive()


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())
