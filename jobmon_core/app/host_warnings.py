"""Warnings about the shell and the folder in which jobmon was started; they cost a few system calls."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.store.home import Home

# below it, a monitor of a few jobs with agents may be unable to start squeue or to send
_MIN_OPEN_FILES = 64


def open_files_warning() -> str:
    """Return the warning that a monitor may open too few files to do its work; empty if it may open enough.

    A monitor raises the soft limit to the hard one, so the hard one counts.
    """
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit == resource.RLIM_INFINITY or limit >= _MIN_OPEN_FILES:
        return ""
    return (
        f"warning: a process of this shell may open only {limit} files (`ulimit -Hn`), so the monitor may be "
        "unable to ask the scheduler or to send messages; use a shell that allows more, e.g. of a new login"
    )


def exposed_home(home: Home) -> str:
    """Return that every user may put files into jobmon's home, and what to do; empty if that is not so."""
    try:
        mode = os.stat(home.root).st_mode  # noqa: PTH116 - as fast as possible
    except OSError:
        return ""
    if not mode & stat.S_IWOTH:
        return ""
    return f"every user may write to {home.root}: run `chmod o-w {shlex.quote(str(home.root))}`"
