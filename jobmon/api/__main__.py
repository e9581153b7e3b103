"""The process that runs a command for a caller in Python, with one thread and signal handlers of its own."""

from __future__ import annotations

from jobmon.cli import run
from jobmon_core.app.from_python import run_for_caller

if __name__ == "__main__":
    run_for_caller(run)
