"""Run as ``python -m jobmon``."""

from __future__ import annotations

from jobmon.cli import program

if __name__ == "__main__":
    program()
