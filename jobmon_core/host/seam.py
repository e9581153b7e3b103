"""How the adapters of this package put a question to a program: somebody else starts it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """What came of running a program."""

    well: bool  # it ran, and ended with exit code 0
    stdout: str = ""
    words: str = ""  # where it did not end well: why, as one line


Ask = Callable[[Sequence[str]], Said]
