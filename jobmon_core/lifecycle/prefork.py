"""A forked copy of the command that prepares to become the monitor while sbatch is still running.

Importing the modules of a daemon takes as long as a quick sbatch. Because both run at the same time, the user
waits only for the slower one. A request on a pipe turns the copy into the monitor; end of file ends the copy.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.environment import ATTEMPT_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jobmon_core.lifecycle.recorder import Recorder

_START_TIMEOUT_S = 30.0
_STDIN, _STDOUT, _STDERR = range(3)


class PreforkedMonitor:
    """A forked copy, a pipe for its request and one for its status. Call `start` once, or `discard`."""

    def __init__(self, record: Recorder | None = None) -> None:
        """Fork the copy; the caller must be single-threaded.

        ``record`` runs in a further process, see `lifecycle.recorder`.
        """
        _open_standard_streams()
        try:
            request_reader, request_writer = os.pipe()
            status_reader, status_writer = os.pipe()
            pid = os.fork()
        except OSError as error:
            raise StorageFailed(f"cannot start a process for the monitor: {error.strerror}") from error
        if pid == 0:
            os.close(request_writer)
            os.close(status_reader)
            _await_request(request_reader, status_writer, record)
        os.close(request_reader)
        os.close(status_writer)
        self._pid, self._request_pipe, self._status_pipe = pid, request_writer, status_reader
        self.is_waiting = True  # until `start` or `discard`

    def start(
        self, home: Path, max_monitors: int, state_ids: Sequence[str], *, ignore_limit: bool = False
    ) -> str:
        """Make the copy the monitor of these jobs; return READY or the like, or an error message.

        Empty if the copy died, or was killed because it had not responded for 30 seconds. With
        ``ignore_limit``, it starts even if ``max_monitors`` run on this host.
        """
        request = json.dumps([str(home), max_monitors, ignore_limit, *state_ids])
        with suppress(BrokenPipeError):  # the copy is dead: its status stays empty
            os.write(self._request_pipe, request.encode("ascii"))
        self.is_waiting = False
        os.close(self._request_pipe)
        status = _read(self._status_pipe, _START_TIMEOUT_S)
        if not status:
            with suppress(ProcessLookupError):  # it may hang in a file system that does not respond
                os.kill(self._pid, signal.SIGKILL)
        self._reap()
        return status.decode(errors="replace")

    def discard(self) -> None:
        """End the copy if it still waits for a request."""
        if self.is_waiting:
            self.is_waiting = False
            os.close(self._request_pipe)
            self._reap()

    def _reap(self) -> None:
        os.close(self._status_pipe)
        with suppress(ChildProcessError):  # if SIGCHLD is ignored, the kernel has reaped it
            os.waitpid(self._pid, 0)


def _await_request(request_pipe: int, status_pipe: int, record: Recorder | None) -> NoReturn:
    """Load the modules, wait for a request and become the monitor; never return into the copied command."""
    try:
        _reset_signals()
        for name in ATTEMPT_VARIABLES:
            os.environ.pop(name, None)
        from jobmon_core.lifecycle.recorder import announce, start_recorder

        recorder = start_recorder(record, (request_pipe, status_pipe)) if record else None
        from jobmon_core.lifecycle import daemonize  # takes long, and the user may edit the script now

        daemonize.load()
        if request := _read(request_pipe, None):
            home, max_monitors, ignore_limit, *state_ids = json.loads(request)
            announce(recorder, state_ids)
            daemonize.daemonize(home, max_monitors, state_ids, status_pipe, ignore_limit=ignore_limit)
    except Exception as error:  # noqa: BLE001 - the command reports it
        os.write(status_pipe, f"{type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        os._exit(1)


def _reset_signals() -> None:
    """Let signals end the copy, which has done nothing yet; the handlers that it inherited serve sbatch."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _read(pipe: int, timeout_s: float | None) -> bytes:
    """Read until the other end is closed, or nothing arrives for ``timeout_s`` seconds (None: no limit)."""
    content = b""
    while select.select([pipe], [], [], timeout_s)[0]:
        chunk = os.read(pipe, 65536)
        if not chunk:
            break
        content += chunk
    return content


def _open_standard_streams() -> None:
    """Open /dev/null for the standard streams that the caller closed, so that no pipe gets their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(_STDIN, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(_STDOUT, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_STDERR, "w", closefd=False)
