"""A user at a terminal of 80 columns: waits for words on the screen, then types."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.waiting import PATIENCE_S
from tests.support.warm_jobmon import start_jobmon

_CTRL_C = "\x03"
# Python misses a signal that comes right before a read blocks; then a user presses it again
_AGAIN_S = 10.0


def talk(
    arguments: Sequence[str], steps: Sequence[tuple[str, str]], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str]:
    """Run jobmon; at each step, wait for its first text, type the second. Return exit code and screen."""
    keyboard, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    process = start_jobmon(arguments, folder, environment, terminal)
    os.close(terminal)
    try:
        screen = _screen_after(keyboard, steps)
        return process.wait(PATIENCE_S), screen
    finally:
        process.kill()
        process.wait()
        os.close(keyboard)


def _screen_after(keyboard: int, steps: Sequence[tuple[str, str]]) -> str:
    """Return everything that appears until the program closes the terminal."""
    screen, seen, typed = "", 0, ""
    deadline = time.monotonic() + PATIENCE_S
    pending = list(steps)
    while True:
        while pending and (position := screen.find(pending[0][0], seen)) >= 0:
            seen = position + len(pending[0][0])
            typed = pending.pop(0)[1]
            os.write(keyboard, typed.encode())
        left_s = deadline - time.monotonic()
        if typed.endswith(_CTRL_C):
            left_s = min(left_s, _AGAIN_S)
        ready, _, _ = select.select([keyboard], [], [], max(0.0, left_s))
        if not ready and typed.endswith(_CTRL_C) and time.monotonic() < deadline:
            os.write(keyboard, _CTRL_C.encode())
            continue
        assert ready, f"waiting for {pending[:1]}, the screen shows: {screen}"
        try:
            chunk = os.read(keyboard, 65_536)
        except OSError:  # the program has ended
            chunk = b""
        if not chunk:
            assert not pending, f"ended before {pending[0][0]!r}: {screen}"
            return screen
        screen += chunk.decode().replace("\r\n", "\n")
