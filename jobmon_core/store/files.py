"""Writing files so that a crash at any instant leaves the old content or the new, never a torn one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(path: Path) -> Path:
    """Return ``path`` as a folder that only its owner can enter, made where it is missing.

    Raises:
        StorageFailed: it can't be made, or is no folder.
    """
    made_folder(path)
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(PRIVATE_FOLDER)
    except OSError as error:
        raise StorageFailed(f"{path} can't be used: {error.strerror}") from error
    return path


def made_folder(path: Path) -> Path:
    """Return ``path`` as a folder: private where it had to be made, left as it is where it is there.

    Raises:
        StorageFailed: it can't be made, or is no folder.
    """
    try:
        _make(path)
    except OSError as error:
        raise StorageFailed(f"{path} can't be used: {error.strerror}") from error
    return path


def _make(path: Path) -> None:
    """Make a folder and those above it, all private whatever the umask; one that is there stays as it is."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        _make(path.parent)
    try:
        path.mkdir()
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(PRIVATE_FOLDER)


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace the content of ``path`` in one step; ``durable`` makes it survive a power cut too.

    Raises:
        StorageFailed: the disk refused; the old content is still there and nothing else is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content, durable=durable)
        temporary.replace(path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # where even that is refused (a read-only disk), nothing was made
            temporary.unlink(missing_ok=True)
        raise StorageFailed(f"{path} can't be written: {error.strerror}") from error


def _write(path: Path, content: bytes, *, durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, PRIVATE_FILE)  # whatever the umask took away
        file.write(content)
        file.flush()
        if durable:
            os.fsync(descriptor)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_own(path: Path, at_most: int) -> bytes:
    """Read a regular file, following no link at its end.

    Raises:
        OSError: it is missing, unreadable, a link or no regular file.
    """
    with open(path, "rb", opener=_follow_no_link) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        return file.read(at_most)


def _follow_no_link(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
