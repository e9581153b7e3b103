"""A copy of the command that gets ready to become the monitor while sbatch still works.

Loading what detaching needs takes as long as a quick sbatch: done side by side, the user waits for
only one of them. An order turns the copy into the monitor, an end of file sends it away.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from jobmon_core.domain.errors import StorageFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_START_TIMEOUT_S = 30.0
_STDIN, _STDOUT, _STDERR = range(3)


class PreforkedMonitor:
    """The copy, and the two pipes to it; it takes one order, or is dismissed."""

    def __init__(self) -> None:
        """Make the copy; the caller must have no threads.

        Raises:
            StorageFailed: the host has no room for another process.
        """
        _fill_standard_streams()
        try:
            order, orders = os.pipe()
            words, word = os.pipe()
            pid = os.fork()
        except OSError as error:
            raise StorageFailed(f"no process can be started for the monitor: {error.strerror}") from error
        if pid == 0:
            os.close(orders)
            os.close(words)
            _stand_by(order, word)
        os.close(order)
        os.close(word)
        self._pid, self._orders, self._words = pid, orders, words
        self.is_waiting = True  # for its order

    def become_monitor(
        self, home: Path, ceiling: int, job_ids: Sequence[str], *, beyond: bool = False
    ) -> str:
        """Have it become the monitor of these jobs; return its word, empty where it gave none.

        It refuses where ``ceiling`` monitors run already, unless it may go ``beyond``.
        """
        with suppress(BrokenPipeError):  # it is gone: its silence tells
            os.write(
                self._orders,
                "\n".join((str(home), str(ceiling), str(int(beyond)), *job_ids)).encode(
                    errors="surrogateescape"
                ),
            )
        self.is_waiting = False
        os.close(self._orders)
        word = _read(self._words, _START_TIMEOUT_S)
        if not word:
            with suppress(ProcessLookupError):  # a dead file system may hold it for ever; not us with it
                os.kill(self._pid, signal.SIGKILL)
        self._forget()
        return word.decode(errors="replace")

    def discard(self) -> None:
        """Send it away, if it still waits."""
        if self.is_waiting:
            self.is_waiting = False
            os.close(self._orders)
            self._forget()

    def _forget(self) -> None:
        os.close(self._words)
        with suppress(ChildProcessError):  # whoever started this process ignores SIGCHLD: the kernel reaps
            os.waitpid(self._pid, 0)


def _stand_by(order: int, word: int) -> NoReturn:
    """Load, wait for the order, obey; never return into the copy of the command."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is meant for sbatch; nothing is lost here
        from jobmon_core.lifecycle import daemonize

        daemonize.load()
        said = _read(order, None).decode(errors="surrogateescape")
        if said:
            home, ceiling, beyond, *job_ids = said.split("\n")
            daemonize.daemonize(home, int(ceiling), job_ids, word, beyond=bool(int(beyond)))
    except Exception as error:  # noqa: BLE001 - whatever it was, the command tells its user
        os.write(word, f"{type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        os._exit(1)


def _read(descriptor: int, timeout_s: float | None) -> bytes:
    """Read until the other side closes, or is silent for ``timeout_s``."""
    said = b""
    while select.select([descriptor], [], [], timeout_s)[0]:
        chunk = os.read(descriptor, 65536)
        if not chunk:
            break
        said += chunk
    return said


def _fill_standard_streams() -> None:
    """Open what the caller closed (``<&-``): python-daemon needs all three, and a pipe of ours none."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        continue
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(_STDIN, "r", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(_STDOUT, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_STDERR, "w", closefd=False)
