"""The pipes of a running program: its output is copied to the user as it arrives, or collected."""

from __future__ import annotations

import os
import select
import selectors
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

_CHUNK_BYTES = 65536  # the capacity of a pipe
_KEPT_BYTES = 65536  # of each stream
_POLL_S = 0.5  # how often to check whether the program ended while another process keeps its pipes open


class Beginning:
    """Drops what stands before a mark of a stream, and the mark; keeps the last 64 KiB of it."""

    def __init__(self, mark: bytes) -> None:
        """Wait for the mark; an empty one is at the start."""
        self._mark = mark
        self.before, self.has_begun = b"", not mark

    def after(self, chunk: bytes) -> bytes:
        """Return what can be passed on once ``chunk`` has arrived."""
        if self.has_begun:
            return chunk
        self.before, found, rest = (self.before + chunk).partition(self._mark)
        self.before, self.has_begun = self.before[-_KEPT_BYTES:], bool(found)
        return rest


class Relay:
    """The stdout and stderr of one running program, copied to two descriptors of the user."""

    def __init__(
        self, process: subprocess.Popen[bytes], stdout_fd: int, stderr_fd: int, mark: bytes = b""
    ) -> None:
        """Take over those streams of ``process`` that are pipes, to copy them to the two descriptors.

        Of each, only what follows the mark is copied, and is the output.
        """
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._out = _Stream(stdout_fd, mark)
        self._err = _Stream(stderr_fd, mark)
        for pipe, stream in ((process.stdout, self._out), (process.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, stream)

    @property
    def is_unread(self) -> bool:
        """Whether what reads the user's stdout has ended, e.g. `head`."""
        return self._out.target.is_closed

    @property
    def noise(self) -> str | None:
        """What stderr had before the mark; None after that of stdout."""
        return None if self._out.beginning.has_begun else self._err.beginning.before.decode(errors="replace")

    @property
    def output(self) -> tuple[str, str]:
        """The last 64 KiB of the program's stdout and of its stderr; empty for one that is not a pipe."""
        return self._out.tail.decode(errors="replace"), self._err.tail.decode(errors="replace")

    def copy(self, on_line: Callable[[str], None], on_pause: Callable[[], object] | None = None) -> None:
        """Copy until both pipes are closed, calling ``on_line`` with each line of the program's stdout.

        ``on_pause`` is called after each 0.5 s without output. Once the program has ended, such a time ends
        the copying too. If a callback raises, the next call continues from there.
        """
        while self._selector.get_map():
            events = self._selector.select(_POLL_S)
            # a background child may keep the pipes open for ever; the user's shell would not wait for that
            if not events and self._process.poll() is not None:
                break
            if not events and on_pause:
                on_pause()
            for key, _ in events:
                stream: _Stream = key.data
                if not stream.transfer(key.fd):
                    self._selector.unregister(key.fileobj)
                elif stream is self._out:
                    stream.emit_lines(on_line)
        self._out.emit_lines(on_line, at_end=True)
        self._selector.close()


class Collector:
    """The whole input and output of one running program, up to a size."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, max_bytes: int) -> None:
        """Take over the pipes of ``process``, to write ``stdin`` and to keep ``max_bytes`` of its output."""
        self.out, self.err = bytearray(), bytearray()
        self._unwritten = memoryview(stdin)
        self._pipes = {
            pipe.fileno(): pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe
        }
        self._max_bytes = max_bytes
        self._selector = selectors.DefaultSelector()
        for pipe, buffer in ((process.stdout, self.out), (process.stderr, self.err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, buffer)
        if process.stdin is not None:
            self._selector.register(process.stdin, selectors.EVENT_WRITE)

    def collect(self, deadline_s: float) -> bool:
        """Write and read until the program has closed all pipes; return False if it has not in time.

        ``deadline_s`` is a time of `time.monotonic`. OverflowError if the program has printed too much.
        """
        with self._selector:
            while self._selector.get_map():
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return False
                for key, _ in self._selector.select(left_s):
                    is_done = self._write(key.fd) if key.data is None else not self._read(key.fd, key.data)
                    if is_done:
                        self._selector.unregister(key.fileobj)
                        self._pipes[key.fd].close()
        return True

    def _read(self, source: int, buffer: bytearray) -> bool:
        chunk = os.read(source, _CHUNK_BYTES)
        if len(self.out) + len(self.err) + len(chunk) > self._max_bytes:
            raise OverflowError
        buffer.extend(chunk)
        return bool(chunk)

    def _write(self, target: int) -> bool:
        """Write some input; return whether there is nothing more to write."""
        try:
            written = os.write(target, self._unwritten[: select.PIPE_BUF])  # this much does not block
        except BrokenPipeError:  # the program no longer reads
            return True
        self._unwritten = self._unwritten[written:]
        return not self._unwritten


class Target:
    """A descriptor of the user that a program's output is copied to."""

    def __init__(self, descriptor: int) -> None:
        """Copy to this descriptor, which stays open."""
        self._descriptor: int | None = descriptor
        self._is_within_line = False

    @property
    def is_closed(self) -> bool:
        """Whether a write has failed."""
        return self._descriptor is None

    def end_line(self) -> None:
        """End an unfinished line, e.g. a progress bar, on a terminal; a file or a pipe gets nothing more."""
        if self._is_within_line and self._descriptor is not None and os.isatty(self._descriptor):
            self.write(b"\n")

    def write(self, chunk: bytes) -> None:
        """Write all of ``chunk``; do nothing after a write has failed, e.g. because nobody reads any more."""
        if chunk:
            self._is_within_line = not chunk.endswith(b"\n")
        unwritten = memoryview(chunk)
        while unwritten and self._descriptor is not None:
            try:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
            except BlockingIOError:  # another process made the terminal non-blocking
                select.select([], [self._descriptor], [])
            except OSError:  # the program must not fail because of that
                self._descriptor = None


class _Stream:
    """One stream: where it is copied to, its last bytes, and those not yet passed to ``on_line``."""

    def __init__(self, descriptor: int, mark: bytes) -> None:
        self.target = Target(descriptor)
        self.beginning = Beginning(mark)
        self._unread = bytearray()
        self.tail = bytearray()

    def transfer(self, source: int) -> bool:
        """Copy what ``source`` has, waiting for it if necessary; return False at the end of ``source``."""
        chunk = os.read(source, _CHUNK_BYTES)
        passed = self.beginning.after(chunk)
        self.target.write(passed)
        for buffer in (self.tail, self._unread):
            buffer.extend(passed)
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
