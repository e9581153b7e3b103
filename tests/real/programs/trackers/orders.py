"""What the programs in this folder do: log steps when they are told so, and end."""

from __future__ import annotations

import sys
from collections.abc import Callable


def loss_at(step: int) -> float:
    """Return the loss that is logged at a step."""
    return 1 / (step + 1)


def obey(log: Callable[[int], None], flush: Callable[[], None]) -> int:
    """Obey lines of standard input, and answer each by ``done``: ``log A B``, ``end CODE``.

    Returns:
        the code with which the program is to end.
    """
    for line in sys.stdin:
        order, *numbers = line.split()
        if order == "end":
            return int(numbers[0])
        for step in range(*map(int, numbers)):
            log(step)
        flush()
        print("done", flush=True)
    return 0
