"""Private files and folders, written so that a crash leaves the old content or the new, not a mixture."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

PRIVATE_FOLDER = 0o700
_SETTLED_S = 5.0  # before that, a second change of a folder may leave its modification time the same
PRIVATE_FILE = 0o600
_FOREIGN_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
# the errors after which `blocking_file` is asked for the cause
_BLOCKED = (errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM)


class Stamp(NamedTuple):
    """Values of a file that change whenever it is replaced or written."""

    inode: int
    size_bytes: int
    modified_ns: int  # when its content was changed
    changed_ns: int  # when its inode was changed

    @property
    def modified_s(self) -> float:
        """When its content was changed (Unix seconds)."""
        return self.modified_ns / 1e9


def file_stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file; None if it is missing or cannot be examined."""
    try:
        status = path.stat()
    except OSError:
        return None
    return stamp_of(status)


def settled(stamp: Stamp | None, now_s: float) -> Stamp | None:
    """Return the stamp of a folder, by which the next change is noticed; None soon after a change."""
    return stamp if stamp and abs(now_s - stamp.modified_s) > _SETTLED_S else None


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file with this status."""
    return Stamp(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def usable_bytes(status: os.statvfs_result) -> int:
    """Return the size of a file system as `df` reckons it: without the blocks that are reserved for root."""
    return (status.f_blocks - status.f_bfree + status.f_bavail) * status.f_frsize


def blocking_file(path: Path) -> str:
    """Return what blocks ``path``, where jobmon keeps a file, and what to do; empty if nothing does."""
    try:
        status = path.lstat()
    except OSError:
        return ""
    if kind := _FOREIGN_KINDS.get(stat.S_IFMT(status.st_mode)):
        return f"it is a {kind}, but jobmon keeps a file there; move it away"
    if status.st_uid != os.geteuid():
        owner = user_name(status.st_uid)
        return f"it belongs to user {owner}, not to you; remove it or ask {owner} to remove it"
    return ""


def failure_reason(path: Path, error: OSError) -> str:
    """Return why an operation on ``path`` failed: what blocks the path, else the system's message."""
    return (error.errno in _BLOCKED and blocking_file(path)) or error.strerror or str(error)


@contextmanager
def storage_errors(path: Path, done: str) -> Iterator[None]:
    """Report an OSError in the ``with`` block as StorageFailed: ``path`` cannot be ``done``, e.g. written."""
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"{path} cannot be {done}: {failure_reason(path, error)}") from error


def private_folder(path: Path) -> Path:
    """Return ``path`` as a folder that only the user can enter; it is created if missing.

    StorageFailed also if it is a link, or belongs to another user.
    """
    if is_private_folder(path):  # as nearly always, and asked for a thousand times by a list of jobs
        return path
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


def is_private_folder(path: Path) -> bool:
    """Whether it is a folder that only the user can enter. A link is none: it may lead elsewhere later."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_folder, mode = stat.S_ISDIR(status.st_mode), stat.S_IMODE(status.st_mode)
    return is_folder and status.st_uid == os.geteuid() and not mode & 0o077


def make_folder(path: Path) -> Path:
    """Return ``path`` as a folder: created with its parents as private folders, unchanged if it exists."""
    missing = list(takewhile(lambda folder: not folder.is_dir(), (path, *path.parents)))
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)  # another process may create it at the same time
            folder.chmod(PRIVATE_FOLDER)  # whatever the umask
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error
    return path


def temporary(path: Path) -> str:
    """Return a new path for the next content of ``path``; `Home.clean_up` finds such files by their name.

    It is a text: a Path interns the names in it, and Python's table of interned strings would grow.
    """
    return f"{path.parent}/.{path.name}.{os.urandom(8).hex()}.tmp"


def write_atomically(
    path: Path,
    content: bytes,
    *,
    durable: bool = True,
    old_will_do: bool = False,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Replace the content of ``path`` in one step; if ``durable``, it survives a power cut.

    With ``old_will_do``, the old content may be there after a power cut, but whole; that takes one fsync
    less. ``check`` is called when only that step is left, and prevents it by raising an exception. After
    StorageFailed, the old content is still there, or the new one is, but may not survive a power cut.
    """
    with _new_content(path, content, durable=durable) as new:
        check()
        os.replace(new, path)  # noqa: PTH105 - see `temporary`
        if durable and not old_will_do:
            sync_folder(path.parent)


def discard_unfinished(folder: Path, names: Collection[str]) -> None:
    """Remove what is about to replace files with these names, so that it never does.

    This stops a process that was frozen between the two steps of `write_atomically` and runs again later.
    """
    with suppress(OSError):  # then only that check and the owner record stop such a process
        for each in os.listdir(folder):  # noqa: PTH208 - few of many names become paths
            if each.endswith(".tmp") and each[1:].rsplit(".", 2)[0] in names:
                (folder / each).unlink(missing_ok=True)


def remove_file(path: Path) -> None:
    """Remove a file, if there is one; else raise StorageFailed."""
    with storage_errors(path, "removed"):
        path.unlink(missing_ok=True)


def create_exclusive(path: Path, content: bytes) -> bool:
    """Create a file with its content in one step; return False if the file exists already.

    If several processes try at once, on any hosts, one succeeds: link(2) is decided by the file server, even
    where locks do not reach from host to host.
    """
    with _new_content(path, content, durable=True) as new:
        try:
            os.link(new, path)
        except FileExistsError:
            # a file server may have made the link, but its reply was lost and the request was repeated
            return os.stat(new).st_nlink > 1  # noqa: PTH116 - see `temporary`
    return True


@contextmanager
def _new_content(path: Path, content: bytes, *, durable: bool) -> Iterator[str]:
    """Yield a temporary file with the new content of ``path``; remove it at the end if it is still there."""
    new = temporary(path)
    try:
        with storage_errors(path, "written"):
            _write(new, content, durable=durable)
            yield new
    finally:
        with suppress(OSError):  # it has its final name, or was not created
            os.unlink(new)  # noqa: PTH108 - see `temporary`


def _write(path: str, content: bytes, *, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, PRIVATE_FILE)  # whatever the umask
        file.write(content)
        file.flush()
        if durable:
            os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Let the names in a folder survive a power cut; OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_own(path: Path, at_most: int) -> bytes:
    """Return up to ``at_most`` bytes of a regular file of the user, without following a link; OSError."""
    return read_dated(path, at_most)[0]


def read_dated(path: Path, at_most: int) -> tuple[bytes, float]:
    """Return the content as `read_own` does, and the file's modification time (Unix seconds)."""
    descriptor = _open_without_following(path)  # a page reads hundreds of files: `open` takes twice as long
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "not a regular file")
        if status.st_uid != os.geteuid():
            raise OSError(0, f"it belongs to user {user_name(status.st_uid)}, not to you")
        # Python takes memory for as much as it is asked for, and a user may have little
        left, content = min(at_most, status.st_size), b""
        while left > 0 and (piece := os.read(descriptor, left)):
            left, content = left - len(piece), content + piece
        return content, status.st_mtime
    finally:
        os.close(descriptor)


def _open_without_following(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link, which jobmon does not follow") from error
        raise


def open_private(path: Path, flags: int) -> int:
    """Open a file, created if missing, without following a link; set mode 0600; return the descriptor.

    If something else is in its place, the text of the OSError says what to do.
    """
    if blocker := blocking_file(path):
        raise OSError(errno.EEXIST, blocker)
    # O_NONBLOCK: opening a pipe that was put there just now would otherwise wait for a reader
    flags |= os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, PRIVATE_FILE)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != PRIVATE_FILE:  # an older file, or the umask
        os.fchmod(descriptor, PRIVATE_FILE)
    return descriptor


def touch_private(path: Path) -> None:
    """Create an empty private file, or set its modification time to now."""
    with storage_errors(path, "written"), open(open_private(path, os.O_WRONLY), "wb") as file:
        os.utime(file.fileno())


def time_of_files(folder: Path) -> float:
    """Return the time by the clock that sets the modification times in a folder (Unix seconds).

    The clock of a file server may differ from that of its clients. If the folder cannot be written, this
    host's time is returned.
    """
    try:
        stamp = folder / "clock.stamp"
        touch_private(stamp)
        return stamp.stat().st_mtime
    except (OSError, StorageFailed):
        return time.time()


def shipped_file(name: str, folder: str = "patterns") -> Path:
    """Return the path of a file that jobmon ships: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / folder / name
    return packaged if packaged.is_file() else package.parent / folder / name
