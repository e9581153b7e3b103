"""Read from a file which literals the shipped expressions require: finding them anew would take 0.1 s.

Every match of an expression contains one of its literals, see `needed_literals`. `dev/share_files.py` writes
the file. The literals of an expression that is not in it are found when needed.
The file has two parts, so that a search for the failures of running jobs need not load the patterns.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.observe.patterns.prefilter import needed_literals
from jobmon_core.observe.patterns.shipped import shipped_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.observe.patterns.prefilter import Literals

FILE_NAME = "error_literals.json"
REPORTED_EARLY, OTHERS = "reported_early", "others"  # see `Pattern.is_reported_early`


def literals_of(regex: str) -> Literals:
    """Return `needed_literals` of a regex, from the shipped list if it is there."""
    parts = _shipped_literals()
    known = next((part[regex] for part in parts.values() if regex in part), None)
    return needed_literals(regex) if known is None else frozenset(known)


def literals_reported_early() -> Mapping[str, list[str]]:
    """Return the literals of each shipped expression that is searched for while a job runs.

    Empty if the file of literals cannot be read.
    """
    return _shipped_literals().get(REPORTED_EARLY, {})


@lru_cache(maxsize=1)
def _shipped_literals() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the literals by part and expression; none if the file cannot be read."""
    try:
        literals: dict[str, dict[str, list[str]]] = json.loads(shipped_file(FILE_NAME).read_bytes())
    except (OSError, ValueError):  # `literals_of` finds them instead
        return {}
    return literals
