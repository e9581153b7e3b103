"""Copies a program's output to the user as it arrives, and keeps the end of that output."""

from __future__ import annotations

import os
import select
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

_CHUNK_BYTES = 65536  # the capacity of a pipe
_KEPT_BYTES = 65536  # of each stream
_POLL_S = 0.5  # how often to check whether the program ended while another process keeps its pipes open


class Relay:
    """The stdout and stderr of one running program, copied to two descriptors of the user."""

    def __init__(self, process: subprocess.Popen[bytes], stdout_fd: int, stderr_fd: int) -> None:
        """Take over those streams of ``process`` that are pipes, to copy them to the two descriptors."""
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._out = _Stream(stdout_fd)
        self._err = _Stream(stderr_fd)
        for pipe, stream in ((process.stdout, self._out), (process.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    @property
    def output(self) -> tuple[str, str]:
        """The last 64 KiB of the program's stdout and of its stderr; empty for one that is not a pipe."""
        return self._out.tail.decode(errors="replace"), self._err.tail.decode(errors="replace")

    def copy(self, on_line: Callable[[str], None]) -> None:
        """Copy until both pipes are closed, calling ``on_line`` with each line of the program's stdout.

        Once the program has ended, 0.5 s without output end the copying too. If ``on_line`` raises, the next
        call continues after that line.
        """
        while self._selector.get_map():
            events = self._selector.select(_POLL_S)
            # a background child may keep the pipes open for ever; the user's shell would not wait for that
            if not events and self._process.poll() is not None:
                break
            for key, _ in events:
                stream: _Stream = key.data
                if not stream.transfer(key.fd):
                    self._selector.unregister(key.fileobj)
                elif stream is self._out:
                    stream.emit_lines(on_line)
        self._out.emit_lines(on_line, at_end=True)
        self._selector.close()


class Target:
    """A descriptor of the user that a program's output is copied to."""

    def __init__(self, descriptor: int) -> None:
        """Copy to this descriptor, which stays open."""
        self._descriptor: int | None = descriptor
        self._is_within_line = False

    def end_line(self) -> None:
        """End an unfinished line, e.g. a progress bar, on a terminal; a file or a pipe gets nothing more."""
        if self._is_within_line and self._descriptor is not None and os.isatty(self._descriptor):
            self.write(b"\n")

    def write(self, chunk: bytes) -> None:
        """Write all of ``chunk``; do nothing once nobody reads any more."""
        if chunk:
            self._is_within_line = not chunk.endswith(b"\n")
        unwritten = memoryview(chunk)
        while unwritten and self._descriptor is not None:
            try:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
            except BlockingIOError:  # another process made the terminal non-blocking
                select.select([], [self._descriptor], [])
            except OSError:  # nobody reads any more; the program must not fail because of that
                self._descriptor = None


class _Stream:
    """One stream: where it is copied to, its last bytes, and those not yet passed to ``on_line``."""

    def __init__(self, descriptor: int) -> None:
        self._target = Target(descriptor)
        self._unread = bytearray()
        self.tail = bytearray()

    def transfer(self, source: int) -> bool:
        """Copy what ``source`` has, waiting for it if necessary; return False at the end of ``source``."""
        chunk = os.read(source, _CHUNK_BYTES)
        self._target.write(chunk)
        for buffer in (self.tail, self._unread):
            buffer.extend(chunk)
            del buffer[:-_KEPT_BYTES]
        return bool(chunk)

    def emit_lines(self, on_line: Callable[[str], None], *, at_end: bool = False) -> None:
        """Pass each new complete line to ``on_line``; ``at_end``, also an incomplete one."""
        if at_end and self._unread:
            self._unread += b"\n"
        while (end := self._unread.find(b"\n")) >= 0:
            line = self._unread[:end].decode(errors="replace")
            del self._unread[: end + 1]
            on_line(line)
