"""Where the server listens: a socket that only its user can open, or a port of this machine."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed, UsageError
from jobmon_core.system.files import is_private_folder
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_CREDENTIALS = struct.Struct("3i")  # process, user and group of the other end
_BACKLOG = 64
_MAX_PATH_BYTES = 107  # of the address of a socket


def socket_folder(environment: Mapping[str, str]) -> Path:
    """Return the user's folder for sockets, made if it is missing; StorageFailed if it is not theirs alone.

    $XDG_RUNTIME_DIR exists only while the user is logged in, as the server does.
    """
    given = environment.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/") and is_private_folder(Path(given)):
        folder = Path(given) / "jobmon"
    else:
        folder = Path(tempfile.gettempdir()) / f"jobmon-{os.geteuid()}"
        _check_parent(folder.parent)
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        is_private = is_private_folder(folder)
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be used: {error.strerror}") from error
    if not is_private:
        owner = user_name(folder.lstat().st_uid)
        raise StorageFailed(
            f"{folder} is not a folder that only you can enter (it belongs to {owner}), so pages from there "
            "would not be private: remove it, or set $TMPDIR to a folder of yours"
        )
    return folder


def _check_parent(folder: Path) -> None:
    """Refuse a folder in which another user could put theirs in place of ours."""
    try:
        status = folder.stat()
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be used: {error.strerror}") from error
    is_open = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
    if is_open or status.st_uid not in (0, os.geteuid()):
        raise StorageFailed(
            f"in {folder}, other users can replace your files: set $TMPDIR to a folder of yours"
        )


def listen_at(path: Path) -> socket.socket:
    """Listen on a socket at ``path``; UsageError if another server does; StorageFailed."""
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise StorageFailed(f"{path} is too long for a socket: set $TMPDIR to a shorter folder, e.g. /tmp")
    if pid := _listening_process(path):
        raise UsageError(
            f"`jobmon web` runs already (process {pid}) and serves {path}: end it with `kill {pid}`"
        )
    listener, mask = socket.socket(socket.AF_UNIX), os.umask(0o177)
    try:
        path.unlink(missing_ok=True)  # of a server that was killed
        listener.bind(str(path))
        listener.listen(_BACKLOG)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be used: {error.strerror}") from error
    finally:
        os.umask(mask)
    return listener


def _listening_process(path: Path) -> int:
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.settimeout(1.0)
        probe.connect(str(path))
        return _credentials(probe)[0]
    return 0


def listen_on_port(port: int) -> socket.socket:
    """Listen on a port of the loopback interface, any free one for 0; UsageError if it is taken."""
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port"
        ) from error
    return listener


def is_own_user(connection: socket.socket) -> bool:
    """Whether the other end of a connection is of this user; a port does not tell, so always there."""
    if connection.family != socket.AF_UNIX:
        return True
    return _credentials(connection)[1] == os.geteuid()


def _credentials(connection: socket.socket) -> tuple[int, ...]:
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(found)
