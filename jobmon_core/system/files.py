"""Writing files so that a crash at any instant leaves the old content or the new, never a torn one."""

from __future__ import annotations

import errno
import os
import stat
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.file_checks import because, blocking_file, user_name
from jobmon_core.system.process import start_ticks

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(path: Path) -> Path:
    """Return ``path`` as a folder of ours that nobody else can enter, made where it is missing.

    Raises:
        StorageFailed: it can't be made, is no folder, a link, or somebody else's.
    """
    if path.is_symlink():  # what we do to a folder, its mode for one, would be done to whatever it names
        raise StorageFailed(
            f"{path} is a symbolic link, and jobmon follows none: remove it; to move it, set $JOBMON_HOME"
        )
    make_folder(path)
    try:
        status = path.stat()
        if status.st_uid != os.geteuid():
            raise StorageFailed(
                f"{path} belongs to {user_name(status.st_uid)}, not to you: run jobmon as its owner, "
                "or set $JOBMON_HOME to a folder of yours"
            )
        if stat.S_IMODE(status.st_mode) & 0o077:
            path.chmod(PRIVATE_FOLDER)
    except OSError as error:
        raise StorageFailed(f"{path} can't be used: {error.strerror}") from error
    return path


def make_folder(path: Path) -> Path:
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


def temporary(path: Path) -> Path:
    """Return the name under which this process writes what is to become ``path``.

    It tells host, process and its start, so that others can tell whether its writer still lives.
    """
    pid = os.getpid()
    return path.with_name(f".{path.name}.{writing_host()}-{pid}-{start_ticks(pid) or 0}.tmp")


def writing_host() -> str:
    """Return what stands for this host in the name of a temporary file."""
    return f"{zlib.crc32(os.fsencode(os.uname().nodename)):08x}"


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace the content of ``path`` in one step; ``durable`` makes it survive a power cut too.

    Raises:
        StorageFailed: the disk refused; the old content is still there and nothing else is left behind.
    """
    beside = temporary(path)
    try:
        _write(beside, content, durable=durable)
        beside.replace(path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):  # where even that is refused (a read-only disk), nothing was made
            beside.unlink(missing_ok=True)
        raise StorageFailed(f"{path} can't be written: {because(path, error)}") from error


def create_exclusive(path: Path, content: bytes) -> bool:
    """Make a file with its content in one step; return False where there is one, whoever made it.

    Of several that try at once, on whatever hosts, one succeeds: link(2) is the server's own decision,
    also where locks do not reach from host to host.

    Raises:
        StorageFailed: the disk refused.
    """
    beside = temporary(path)
    try:
        _write(beside, content, durable=True)
        os.link(beside, path)
    except FileExistsError:
        return beside.stat().st_nlink > 1  # it was ours: the answer was lost, and the server was asked again
    except OSError as error:
        raise StorageFailed(f"{path} can't be written: {because(path, error)}") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return True


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
    """Read a regular file of ours, following no link at its end.

    Raises:
        OSError: it is missing, unreadable, a link, no regular file, or somebody else's.
    """
    return read_dated(path, at_most)[0]


def read_dated(path: Path, at_most: int) -> tuple[bytes, float]:
    """Read as `read_own` does; return when the file was last written or touched, too (Unix seconds).

    Raises:
        OSError: as `read_own`.
    """
    try:
        with open(path, "rb", opener=_follow_no_link) as file:
            status = os.fstat(file.fileno())
            _refuse_strange(status)
            return file.read(at_most), status.st_mtime
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link, and jobmon follows none") from error
        raise


def _refuse_strange(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "not a regular file")
    if status.st_uid != os.geteuid():
        raise OSError(0, f"it belongs to {user_name(status.st_uid)}, not to you")


def _follow_no_link(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def remove_link(path: Path) -> None:
    """Remove a link laid where a file of ours belongs; what it names is not touched."""
    if path.is_symlink():
        with suppress(OSError):  # then it stays, and opening the file is refused
            path.unlink()


def open_private(path: Path, flags: int) -> int:
    """Open a file of ours, made where it is missing, that only we can open whatever the umask; no link.

    Raises:
        OSError: it can't be opened, or is no file of ours; says what to do about that.
    """
    if why := blocking_file(path):
        raise OSError(errno.EEXIST, why)
    # O_NONBLOCK: what is laid there in this very moment may be a pipe, which would wait for a reader
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != PRIVATE_FILE:
        os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def touch_private(path: Path) -> None:
    """Make an empty file of ours, or give it the present time; a link is removed, never followed.

    Raises:
        StorageFailed: it can't be made, or is no file of ours.
    """
    remove_link(path)
    try:
        descriptor = open_private(path, os.O_WRONLY)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed(f"{path} can't be made: {error.strerror}") from error


def time_of_files(folder: Path) -> float:
    """Return the time by the clock that dates the files of a folder (Unix seconds).

    A file server's clock may differ from that of its hosts. Where it can't be learnt, ours is returned.
    """
    try:
        stamp = folder / "clock.stamp"
        touch_private(stamp)
        return stamp.stat().st_mtime
    except (OSError, StorageFailed):
        return time.time()
