"""The process of `jobmon mcp`: reads requests from stdin, and forks a child for each call of a tool.

It waits for hours beside an agent, so it loads only what the protocol needs (5 MB). What a command needs, and
what is read of foreign logs, is in the child.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from jobmon.mcp.protocol import Cancelled, ToolCall, read_line, too_long, tool_error
from jobmon.mcp.tools import ACTIONS, tools_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Json = dict[str, Any]

MAX_LINE_BYTES = 2**20
_CHUNK_BYTES = 65_536
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MAX_RUNNING, _MAX_WAITING = 4, 64
_NEVER_S = float("inf")
_TIMEOUT_S = 55.0  # of a call that only reads: some clients give up after 60 s
_TOO_LATE = "no answer in time; Slurm may not respond: status, show and health do not ask it"
_KEY_BYTES = 16
_INTERRUPTED, _CLOSED_PIPE = 130, 141  # as `jobmon.errors` has them


class LineReader:
    """Takes pieces of a stream and yields its lines, without blank ones."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        """Wait for the first line."""
        self._max_bytes, self._line, self._is_skipping = max_bytes, bytearray(), False

    def lines(self, piece: bytes) -> Iterator[bytes | None]:
        """Yield the lines that end in this piece; one that is too long as None, and at once."""
        *whole, rest = piece.split(b"\n")
        for part, is_end in (*((line, True) for line in whole), (rest, False)):
            self._line += part
            if len(self._line) > self._max_bytes and not self._is_skipping:
                self._is_skipping = True
                yield None
            if is_end and not self._is_skipping and (line := bytes(self._line).strip()):
                yield line
            if is_end or self._is_skipping:
                self._line.clear()
            self._is_skipping = self._is_skipping and not is_end


class _Running(NamedTuple):
    """A call, the child that runs it, and what the child has written."""

    call: ToolCall
    pid: int
    deadline_s: float  # of `time.monotonic`; what acts has none, since a submission must not be cut off
    written: bytearray


class Server:
    """Answers until stdin ends and each call is answered."""

    def __init__(self, *, can_act: bool, roots: list[str], timeout_s: float = _TIMEOUT_S) -> None:
        """Serve the tools that only read, and, if ``can_act``, those that act, on scripts below ``roots``.

        A call that only reads is ended after ``timeout_s`` seconds.
        """
        self._tools, self._roots = tools_by_name(can_act=can_act), roots
        self._timeout_s = timeout_s
        self._key = os.urandom(_KEY_BYTES).hex()  # of the plans that may be confirmed
        self._reader = LineReader()
        self._waiting: list[ToolCall] = []
        self._running: dict[int, _Running] = {}  # by pipe

    def serve(self) -> int:
        """Serve; return the exit code."""
        # the kernel reaps: nothing waits for a child that hangs
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        is_open = True
        try:
            while is_open or self._running:
                stdin = [_STDIN] if is_open and len(self._waiting) < _MAX_WAITING else []
                for ready in select.select([*self._running, *stdin], [], [], self._patience_s())[0]:
                    if ready == _STDIN:
                        is_open = self._read()
                    elif ready in self._running:  # not cancelled just now
                        self._listen(ready)
                self._end(lambda running: running.deadline_s <= time.monotonic(), tool_error(_TOO_LATE))
                while self._waiting and len(self._running) < _MAX_RUNNING:
                    self._start(self._waiting.pop(0))
        except BrokenPipeError:
            self._end(lambda _: True)
            return _CLOSED_PIPE
        return 0

    def _patience_s(self) -> float | None:
        first_s = min((each.deadline_s for each in self._running.values()), default=_NEVER_S)
        return max(0.0, first_s - time.monotonic()) if first_s < _NEVER_S else None

    def _read(self) -> bool:
        """Read a piece of stdin and answer its lines; return False at the end."""
        piece = os.read(_STDIN, _CHUNK_BYTES)
        for line in self._reader.lines(piece or b"\n"):
            found = too_long(MAX_LINE_BYTES) if line is None else read_line(line, self._tools)
            if isinstance(found, ToolCall):
                self._waiting.append(found)
            elif isinstance(found, Cancelled):
                self._cancel(found.id)
            elif found:
                _write(found)
        return bool(piece)

    def _cancel(self, call_id: object) -> None:
        self._waiting = [call for call in self._waiting if call.id != call_id]
        self._end(lambda running: running.call.id == call_id)

    def _listen(self, pipe: int) -> None:
        """Read a piece of an answer; send it if it is complete, or will never be."""
        running, piece = self._running[pipe], os.read(pipe, _CHUNK_BYTES)
        running.written.extend(piece)
        if piece and b"\n" not in piece:
            return
        del self._running[pipe]
        os.close(pipe)
        try:
            result = json.loads(running.written)
        except ValueError:
            result = tool_error("the process that answers was killed")
        _write(running.call.answer(result))

    def _end(self, is_meant: Callable[[_Running], bool], result: Json | None = None) -> None:
        """End some calls that have not answered: with a result, or without an answer."""
        for pipe in [pipe for pipe, running in self._running.items() if is_meant(running)]:
            running = self._running.pop(pipe)
            os.close(pipe)
            if running.deadline_s < _NEVER_S:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(running.pid, signal.SIGKILL)
            if result:
                _write(running.call.answer(result))

    def _start(self, call: ToolCall) -> None:
        key = self._key
        if "confirm" in call.arguments:
            self._key = os.urandom(_KEY_BYTES).hex()  # one plan is confirmed once
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            _answer(call, {"roots": self._roots, "key": key}, writing)
        os.close(writing)
        deadline_s = _NEVER_S if call.name in ACTIONS else time.monotonic() + self._timeout_s
        self._running[reading] = _Running(call, pid, deadline_s, bytearray())


def _answer(call: ToolCall, settings: Json, writing: int) -> NoReturn:
    """Run a call in the child, write its result as a line, and exit, whatever happens."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), _STDIN)
        os.dup2(_STDERR, _STDOUT)  # stdout belongs to the protocol
        from jobmon.mcp.call import result_of  # only in the child

        line = json.dumps(result_of(call.name, call.arguments, **settings)).encode() + b"\n"
        with open(writing, "wb") as pipe:
            pipe.write(line)
    finally:
        os._exit(0)


def _write(message: Json) -> None:
    unwritten = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
    while unwritten:
        unwritten = unwritten[os.write(_STDOUT, unwritten) :]


def main() -> NoReturn:
    """Run the server with the settings in the first argument."""
    try:
        code = Server(**json.loads(sys.argv[1])).serve()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    os._exit(code)
