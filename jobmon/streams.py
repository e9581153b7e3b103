"""The three standard streams, made safe: a caller may have closed them, left them, or know few letters."""

from __future__ import annotations

import io
import os
import sys
from typing import Literal, TextIO


def prepare() -> None:
    """Open what the caller has closed, and let no letter be a reason to fail.

    Where a number below 3 is free, the next file that we open would get it: sbatch's words would go
    into a file of ours.
    """
    for descriptor in range(3):
        _fill(descriptor)
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout = sys.stdout or _stream(1, "w")
    sys.stderr = sys.stderr or _stream(2, "w")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def abandon(stream: TextIO) -> None:
    """Send what is still to be written to nowhere: its reader has gone, and Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _fill(descriptor: int) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def _stream(descriptor: int, mode: Literal["r", "w"]) -> TextIO:
    return open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
