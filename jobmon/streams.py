"""Make the standard streams usable even if the caller closed them or uses a limited encoding."""

from __future__ import annotations

import io
import os
import sys
from typing import Literal, TextIO


def prepare() -> None:
    """Open the standard streams that the caller closed, and escape what stdout cannot encode.

    Else the next file that jobmon opens would get such a number, and sbatch's output.
    """
    for descriptor in range(3):
        _fill(descriptor)
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout = sys.stdout or _stream(1, "w")
    sys.stderr = sys.stderr or _stream(2, "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def flush_stdout() -> None:
    """Write what was printed; if that is impossible or the user interrupts it, drop it."""
    try:
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt):
        abandon(sys.stdout)


def abandon(stream: TextIO) -> None:
    """Make a broken stream write to /dev/null, so that later writes and flushes do not fail."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


def _fill(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _stream(descriptor: int, mode: Literal["r", "w"]) -> TextIO:
    return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
