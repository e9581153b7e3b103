"""Running a program for the user, with files in the place of the user's terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.system.runner import Ran, Runner


def sh(script: str) -> list[str]:
    """Return the command line of a shell that runs ``script``."""
    return ["sh", "-c", script]


@dataclass
class Terminal:
    """Two files in the place of the user's terminal."""

    out: Path
    err: Path
    programs: Runner

    def run(self, script: str, on_line: Callable[[str], None] = lambda _line: None) -> Ran:
        """Run a shell script attached; return its result."""
        ran = self.programs.run_attached(sh(script), on_line)
        assert isinstance(ran, Ran)
        return ran
