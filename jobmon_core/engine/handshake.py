"""What a new monitor tells the command that started it."""

from __future__ import annotations

READY = "ready "  # followed by the jobs that it holds
BUSY = "busy"  # others hold all of them
FULL = "full"  # there are as many monitors as there may be
