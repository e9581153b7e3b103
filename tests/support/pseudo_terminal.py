"""jobmon in a pseudo-terminal, as a user sees it."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.support.waiting import PATIENCE_S, eventually
from tests.support.warm_jobmon import Started, start_jobmon


class PseudoTerminal:
    """A running jobmon command and everything that it has written to its terminal."""

    def __init__(self, process: subprocess.Popen[bytes] | Started, leader: int) -> None:
        self._process = process
        self._leader = leader
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read, args=(leader,), daemon=True)
        self._reader.start()

    @property
    def written(self) -> str:
        """What was written so far, as it was sent to the terminal."""
        return bytes(self._written).decode("utf-8", errors="replace")

    @property
    def text(self) -> str:
        """What was written so far, with terminal codes and without carriage returns before line ends."""
        return self.written.replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        """Send keys to the command."""
        os.write(self._leader, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal, and notify the command as a terminal does."""
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._process.send_signal(signal.SIGWINCH)

    def terminate(self) -> int:
        """Ask the command to end, as `kill` does; return its exit code."""
        self._process.terminate()
        return self.wait()

    def shows(self, text: str) -> None:
        """Wait until a text was written."""
        eventually(lambda: text in self.text)

    def interrupt(self) -> int:
        """Interrupt the command, as Ctrl-C does; return its exit code."""
        self._process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> int:
        """Wait until the command ends; return its exit code."""
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def _read(self, leader: int) -> None:
        while True:
            try:
                data = os.read(leader, 65_536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            self._written += data


@contextmanager
def terminal(
    *arguments: str,
    environment: Mapping[str, str],
    settings: Mapping[str, str] = MappingProxyType({}),
    columns: int = 80,
    lines: int = 24,
) -> Iterator[PseudoTerminal]:
    """Run jobmon in a pseudo-terminal of this size; ``settings`` are further environment variables."""
    leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    # shutil.get_terminal_size() prefers these variables to the terminal's real size
    inherited = {
        name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")
    }
    process = start_jobmon(arguments, Path.cwd(), {**inherited, "TERM": "xterm", **settings}, follower)
    os.close(follower)
    try:
        yield PseudoTerminal(process, leader)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(leader)
