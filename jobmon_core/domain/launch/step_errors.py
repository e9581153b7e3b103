"""The lines by which srun says that tasks of a step failed.

srun prints them to its error output when the tasks end (Slurm 22.05, ``src/srun/libsrun/srun_job.c``)::

    srun: error: n1: task 3: Exited with exit code 1
    srun: error: n[1-2]: tasks 0-2,5: Killed
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINE = re.compile(r"srun: error: \S{1,256}: tasks? ([0-9][0-9,-]{0,512}): \S.{0,200}")
_MAX_RANKS = 4096


def step_errors(lines: Iterable[str]) -> dict[int, str]:
    """Return the line about each failed task of a step, by its rank; a line about very many is skipped."""
    found: dict[int, str] = {}
    for line in lines:
        if match := _LINE.search(line):
            ranks = IndexSet.parse(match[1])
            if len(ranks) <= _MAX_RANKS:
                found |= dict.fromkeys(ranks, match[0])
    return found
