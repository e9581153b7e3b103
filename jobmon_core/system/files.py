"""Private files and folders, written so that a crash leaves the old content or the new, not a mixture."""

from __future__ import annotations

import errno
import os
import stat
import time
import zlib
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.file_checks import blocking_file, failure_reason
from jobmon_core.system.process import start_ticks, user_name

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(path: Path) -> Path:
    """Return ``path`` as a folder that only the user can enter; it is created if missing.

    Raises:
        StorageFailed: it cannot be created, is not a folder, is a link, or belongs to another user.
    """
    if path.is_symlink():  # the chmod below would change the folder that the link points to
        raise StorageFailed(
            f"{path} is a symbolic link, which jobmon does not follow: remove it; "
            "to move the home, set $JOBMON_HOME"
        )
    make_folder(path)
    try:
        status = path.stat()
        if status.st_uid != os.geteuid():
            raise StorageFailed(
                f"{path} belongs to user {user_name(status.st_uid)}, not to you: run jobmon as its owner, "
                "or set $JOBMON_HOME to a folder of yours"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(PRIVATE_FOLDER)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error
    return path


def make_folder(path: Path) -> Path:
    """Return ``path`` as a folder: created with its parents as private folders, unchanged if it exists.

    Raises:
        StorageFailed: it cannot be created, or is not a folder.
    """
    missing = list(takewhile(lambda folder: not folder.is_dir(), (path, *path.parents)))
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)  # another process may create it at the same time
            folder.chmod(PRIVATE_FOLDER)  # whatever the umask
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error
    return path


def temporary(path: Path) -> Path:
    """Return the name under which this process writes the new content of ``path``.

    It holds host, PID and start time of the process: `Home.clean_up` checks whether that process still runs.
    """
    pid = os.getpid()
    return path.with_name(f".{path.name}.{writing_host()}-{pid}-{start_ticks(pid) or 0}.tmp")


def writing_host() -> str:
    """Return the checksum that stands for this host in the names of temporary files."""
    return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace the content of ``path`` in one step; if ``durable``, it survives a power cut.

    Raises:
        StorageFailed: the old content is still there, and no temporary file is left.
    """
    new = temporary(path)
    try:
        _write(new, content, durable=durable)
        new.replace(path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        _remove(new)
        raise StorageFailed(f"{path} cannot be written: {failure_reason(path, error)}") from error


def create_exclusive(path: Path, content: bytes) -> bool:
    """Create a file with its content in one step; return False if the file exists already.

    If several processes try at once, on any hosts, one succeeds: link(2) is decided by the file server, even
    where locks do not reach from host to host.

    Raises:
        StorageFailed: the file cannot be written.
    """
    new = temporary(path)
    try:
        _write(new, content, durable=True)
        os.link(new, path)
    except FileExistsError:
        return new.stat().st_nlink > 1  # the server made the link, lost its reply, and was asked again
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {failure_reason(path, error)}") from error
    finally:
        _remove(new)
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):  # on a read-only file system, for example, nothing was created
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes, *, durable: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, PRIVATE_FILE)  # whatever the umask
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
    """Return up to ``at_most`` bytes of a regular file of the user, without following a link.

    Raises:
        OSError: the file is missing, unreadable, a link, not a regular file, or belongs to another user.
    """
    return read_dated(path, at_most)[0]


def read_dated(path: Path, at_most: int) -> tuple[bytes, float]:
    """Return the content as `read_own` does, and the file's modification time (Unix seconds).

    Raises:
        OSError: as `read_own`.
    """
    try:
        with open(path, "rb", opener=_open_without_following) as file:
            status = os.fstat(file.fileno())
            _refuse_foreign(status)
            return file.read(at_most), status.st_mtime
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link, which jobmon does not follow") from error
        raise


def _refuse_foreign(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "not a regular file")
    if status.st_uid != os.geteuid():
        raise OSError(0, f"it belongs to user {user_name(status.st_uid)}, not to you")


def _open_without_following(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def remove_link(path: Path) -> None:
    """Remove a symbolic link in the place of a file; its target stays untouched."""
    if path.is_symlink():
        with suppress(OSError):  # then it stays, and opening the file fails
            path.unlink()


def open_private(path: Path, flags: int) -> int:
    """Open a file of mode 0600, created if missing, without following a link; return the descriptor.

    Raises:
        OSError: it cannot be opened, or something else is in its place; the message says what to do.
    """
    if blocker := blocking_file(path):
        raise OSError(errno.EEXIST, blocker)
    # O_NONBLOCK: opening a pipe that was put there just now would otherwise wait for a reader
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != PRIVATE_FILE:
        os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def touch_private(path: Path) -> None:
    """Create an empty private file or set its modification time to now; a link is removed, never followed.

    Raises:
        StorageFailed: it cannot be created, or something else is in its place.
    """
    remove_link(path)
    try:
        descriptor = open_private(path, os.O_WRONLY)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error


def time_of_files(folder: Path) -> float:
    """Return the time by the clock that sets the modification times in a folder (Unix seconds).

    The clock of a file server may differ from that of its hosts. If the folder cannot be written, this host's
    time is returned.
    """
    try:
        stamp = folder / "clock.stamp"
        touch_private(stamp)
        return stamp.stat().st_mtime
    except (OSError, StorageFailed):
        return time.time()
