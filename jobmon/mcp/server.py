"""The process of `jobmon mcp`: reads requests from stdin, and forks a child for each call of a tool.

It waits for hours beside an agent, so it loads only what the protocol needs (5 MB). What a command needs, and
what is read of foreign logs, is in a child of that child, which may hang or be killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from jobmon.mcp.protocol import MAX_LINE_BYTES, ToolCall, read_line, tool_error
from jobmon.mcp.tools import ACTIONS, tools_by_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    Json = dict[str, Any]

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_MAX_RUNNING = 4  # calls; meanwhile, nothing is read
_TIMEOUT_S = 55.0  # of a call that only reads: some clients give up after 60 s
_TOO_LATE = "no answer in time; Slurm may not respond: status, show and health do not ask it"
_KEY_BYTES = 16
_INTERRUPTED, _CLOSED_PIPE = 130, 141  # as `jobmon.errors` has them


def lines_of(stream: BinaryIO, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of a stream, without blank ones; of one that is too long, at once one byte too many."""
    while line := stream.readline(max_bytes + 1):
        is_whole = len(line) <= max_bytes or line.endswith(b"\n")
        if line.strip():
            yield line.strip() if is_whole else line
        while line and not line.endswith(b"\n"):
            line = stream.readline(max_bytes)


class Server:
    """Answers until stdin ends and each call is answered."""

    def __init__(self, *, can_act: bool, roots: list[str], timeout_s: float = _TIMEOUT_S) -> None:
        """Serve the tools that only read, and, if ``can_act``, those that act, on scripts below ``roots``.

        A call that only reads is ended after ``timeout_s`` seconds.
        """
        self._tools, self._roots = tools_by_name(can_act=can_act), roots
        self._timeout_s = timeout_s
        self._key = os.urandom(_KEY_BYTES).hex()  # of the plans that may be confirmed
        self._running: set[int] = set()  # children
        self._turn = os.pipe()[1]  # whoever has its lock, which no dead process keeps, may write to stdout

    def serve(self) -> int:
        """Serve; return the exit code."""
        try:
            with open(_STDIN, "rb", closefd=False) as stdin:
                for line in lines_of(stdin):
                    found = read_line(line, self._tools)
                    if isinstance(found, ToolCall):
                        self._start(found)
                    elif found:
                        self._write(found)
        except BrokenPipeError:
            return _CLOSED_PIPE
        self._reap(most=0)
        return 0

    def _reap(self, most: int) -> None:
        """Forget the children that have ended; wait until there are at most so many."""
        while self._running:
            pid, _ = os.waitpid(-1, os.WNOHANG if len(self._running) <= most else 0)
            if not pid:
                break
            self._running.discard(pid)

    def _start(self, call: ToolCall) -> None:
        self._reap(_MAX_RUNNING - 1)
        key = self._key
        if "confirm" in call.arguments:
            self._key = os.urandom(_KEY_BYTES).hex()  # one plan is confirmed once
        pid = os.fork()
        if pid:
            self._running.add(pid)
            return
        try:
            with suppress(BrokenPipeError):  # the client is gone
                self._write(call.answer(self._result(call, key)))
        finally:
            os._exit(0)

    def _result(self, call: ToolCall, key: str) -> Json:
        """Run a call in a child of this child; return its result, whatever happens to it."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            _run(call, {"roots": self._roots, "key": key}, writing)
        os.close(writing)
        # what acts has no limit, since a submission must not be cut off
        limit_s = None if call.name in ACTIONS else self._timeout_s
        if not select.select([reading], [], [], limit_s)[0]:
            os.kill(pid, signal.SIGKILL)
            return tool_error(_TOO_LATE)
        with open(reading, "rb") as pipe:
            written = pipe.read()
        try:
            result: Json = json.loads(written)
        except ValueError:
            return tool_error("the process that answers was killed")
        return result

    def _write(self, message: Json) -> None:
        unwritten = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        fcntl.lockf(self._turn, fcntl.LOCK_EX)
        try:
            while unwritten:
                unwritten = unwritten[os.write(_STDOUT, unwritten) :]
        finally:
            fcntl.lockf(self._turn, fcntl.LOCK_UN)


def _run(call: ToolCall, settings: Json, writing: int) -> NoReturn:
    """Run a call, write its result, and exit, whatever happens."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), _STDIN)
        os.dup2(_STDERR, _STDOUT)  # stdout belongs to the protocol
        from jobmon.mcp.call import result_of  # only here

        line = json.dumps(result_of(call.name, call.arguments, **settings)).encode()
        with open(writing, "wb") as pipe:
            pipe.write(line)
    finally:
        os._exit(0)


def main() -> NoReturn:
    """Run the server with the settings in the first argument."""
    try:
        code = Server(**json.loads(sys.argv[1])).serve()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    os._exit(code)
