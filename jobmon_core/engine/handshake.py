"""What a new monitor tells the command that started it."""

from __future__ import annotations

import os

READY = "ready "  # followed by the jobs that it holds
BUSY = "busy"  # others hold all of them
FULL = "full"  # there are as many monitors as there may be


def told(pipe: int, word: str) -> bool:
    """Say something on a pipe; return whether anybody is there to hear it."""
    try:
        os.write(pipe, word.encode(errors="replace"))
    except BrokenPipeError:
        return False
    return True
