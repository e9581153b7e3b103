"""What submitting, and looking for a job in doubt, needs from outside."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.scheduler.contract import Submitted

if TYPE_CHECKING:
    from jobmon_core.domain.jobref import JobRef

OnJob = Callable[[Submitted], None]


def _print(text: str) -> None:
    with suppress(OSError):  # nobody listens: the search goes on
        print(f"jobmon: {text}", file=sys.stderr)


def _nobody_knows(_ref: JobRef) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for a job needs from outside.

    Attributes:
        already_known: whether somebody watches that job, so that it can't be the new one.
        tell: says to the user what takes so long.
        sleep: waits so many seconds.
        clock: the time in Unix seconds.
        alone: holds off other submissions, so that no two of them take the same job for theirs.
    """

    already_known: Callable[[JobRef], bool] = _nobody_knows
    tell: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    alone: Callable[[], AbstractContextManager[None]] = nullcontext
