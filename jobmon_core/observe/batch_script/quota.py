"""The user's quota on the file system of a folder, where the tools for it exist.

Sources: quota(1) of Linux quota tools (``-w``: a line for each file system, ``-p``: every column has a value)
and lfs-quota(1) of Lustre. Both print: file system, KiB, soft and hard limit, grace; files, soft and hard
limit, grace. ``*`` marks what is exceeded, 0 is no limit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.checks.facts import Quota
from jobmon_core.system.filesystem import Filesystem
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 5.0
_KIB = 1024
_COLUMNS = 8  # after the name of the file system
_NUMBERS = 6  # of them, without the two columns of grace
_LUSTRE = "lustre"


def quota_of(runner: Runner, folder: str, user: str) -> Quota | None:
    """Return the user's quota where a folder is; None without one, or without the tools."""
    found = Filesystem.of(Path(folder))
    if found.kind == _LUSTRE:
        command = ["lfs", "quota", "-q", "-u", user, found.mounted_at]
    else:
        command = ["quota", "-w", "-p", "-f", found.mounted_at]
    answer = runner.capture(command, _TIMEOUT_S)  # quota exits with 1 if a quota is exceeded
    return read_quota(answer.stdout) if isinstance(answer, Ran) else None


def read_quota(text: str) -> Quota | None:
    """Return the first quota in the output of either tool; None if there is none. Pure."""
    for line in text.splitlines():
        columns = [each.rstrip("*") for each in line.split()[-_COLUMNS:]]
        numbers = [each for each in (*columns[:3], *columns[4:7]) if each.isascii() and each.isdigit()]
        if len(columns) == _COLUMNS and len(numbers) == _NUMBERS:
            used, soft, hard, files, soft_files, hard_files = map(int, numbers)
            limit, files_limit = hard or soft, hard_files or soft_files
            return Quota(used * _KIB, limit * _KIB or None, files, files_limit or None)
    return None
