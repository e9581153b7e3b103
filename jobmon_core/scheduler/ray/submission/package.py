"""The user's folder as a package of a Ray cluster: a zip archive, named by its content.

Source: Ray's ``working_dir`` of a runtime environment: ``gcs://_ray_pkg_HASH.zip``, sent with
``PUT /api/packages/gcs/NAME``. Ray's own client leaves out ``.git`` and refuses large folders, too.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerRejected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEFT_OUT = frozenset({".git", ".hg", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache"})
_MAX_BYTES = 100 << 20
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content has the same name


class Package(NamedTuple):
    """An archive and its name on the cluster."""

    name: str
    content: bytes

    @property
    def uri(self) -> str:
        """What a runtime environment calls it."""
        return f"gcs://{self.name}"


def is_folder_here(working_dir: str) -> bool:
    """Whether a ``working_dir`` is a folder of this machine, not the address of an archive."""
    return "://" not in working_dir


def package_of(folder: Path) -> Package:
    """Return a folder as a package.

    Raises:
        SchedulerRejected: it is not a folder, unreadable, over 100 MiB, or has a file name that is not UTF-8.
    """
    buffer, size = io.BytesIO(), 0
    try:
        if not folder.is_dir():
            raise SchedulerRejected(f"--working-dir: {folder} is not a folder")
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in _files(folder):
                status = path.stat()
                size += status.st_size
                if size > _MAX_BYTES:  # before the file is read: it may not fit into memory
                    raise SchedulerRejected(
                        f"--working-dir: {folder} is larger than {_MAX_BYTES >> 20} MiB; move data out, or "
                        "put it where all nodes see it and use `cd` in the command"
                    )
                info = zipfile.ZipInfo(str(path.relative_to(folder)), _DATE)
                info.external_attr = (status.st_mode & 0o777) << 16
                archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    except UnicodeEncodeError as error:
        name = os.fsencode(error.object).decode("utf-8", "backslashreplace")
        raise SchedulerRejected(f"--working-dir: the file name {name} is not UTF-8; rename it") from error
    except OSError as error:
        raise SchedulerRejected(f"--working-dir: {error.filename or folder}: {error.strerror}") from error
    content = buffer.getvalue()
    return Package(f"_ray_pkg_{hashlib.sha256(content).hexdigest()[:16]}.zip", content)


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _files(entry)
        elif entry.is_file():
            yield entry
