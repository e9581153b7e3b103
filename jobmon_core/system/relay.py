"""Copy a program's output to the user as it comes, and keep the end of it for reading."""

from __future__ import annotations

import os
import select
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

_CHUNK = 65536  # bytes; a pipe holds no more
_KEPT = 65536  # bytes of each stream that stay readable afterwards
_LOOK_S = 0.5  # how often to see whether the program ended although something else holds its pipes


class Relay:
    """The two output streams of one running program, on their way to the user."""

    def __init__(self, process: subprocess.Popen[bytes], stdout_fd: int, stderr_fd: int) -> None:
        """Take over the pipes of ``process``; its output will go to the two descriptors."""
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._out = _Stream(stdout_fd)
        self._err = _Stream(stderr_fd)
        for pipe, stream in ((process.stdout, self._out), (process.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    @property
    def stdout(self) -> str:
        """The end of what the program wrote to its stdout."""
        return self._out.kept.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """The end of what the program wrote to its stderr."""
        return self._err.kept.decode(errors="replace")

    def copy(self, on_line: Callable[[str], None]) -> None:
        """Copy until the program has ended, calling ``on_line`` with each line of its stdout.

        May be called again after ``on_line`` raised: it takes up where it was.
        """
        while self._selector.get_map():
            events = self._selector.select(_LOOK_S)
            # a child that it left behind may hold the pipes open for ever; the user's shell would not wait
            if not events and self._process.poll() is not None:
                break
            for key, _ in events:
                stream: _Stream = key.data
                if not stream.take(key.fd):
                    self._selector.unregister(key.fileobj)
                elif stream is self._out:
                    stream.hand_out(on_line)
        self._out.end_line()
        self._out.hand_out(on_line)
        self._selector.close()


class _Stream:
    """One stream: where it goes, its end, and the lines that nobody has read yet."""

    def __init__(self, target: int) -> None:
        self._target: int | None = target
        self._unread = bytearray()
        self.kept = bytearray()

    def take(self, source: int) -> bool:
        """Pass on what ``source`` has; false at its end."""
        chunk = os.read(source, _CHUNK)
        self._write(chunk)
        self._keep(self.kept, chunk)
        self._keep(self._unread, chunk)
        return bool(chunk)

    def end_line(self) -> None:
        """Take what came after the last newline for a line."""
        if self._unread:
            self._unread += b"\n"

    def hand_out(self, on_line: Callable[[str], None]) -> None:
        """Call ``on_line`` with each complete line, once."""
        while (end := self._unread.find(b"\n")) >= 0:
            line = self._unread[:end].decode(errors="replace")
            del self._unread[: end + 1]
            on_line(line)

    def _write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest and self._target is not None:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:  # someone made the terminal non-blocking
                select.select([], [self._target], [])
            except OSError:  # the user's reader has gone; the program need not know
                self._target = None

    @staticmethod
    def _keep(buffer: bytearray, chunk: bytes) -> None:
        buffer += chunk
        del buffer[:-_KEPT]
