"""Whether logind ends a user's monitors at logout, read from its files. Pure. Source: logind.conf(5).

No regular expressions: `jobmon submit` asks this, and its user waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_TRUE = ("yes", "y", "true", "t", "on", "1")


def in_session(cgroups: str) -> bool:
    """Tell from ``/proc/self/cgroup`` whether a process belongs to a login session.

    What cron, a container or the user's own systemd started does not, and no end of a session ends it.
    """
    folders = (folder for line in cgroups.splitlines() for folder in line.split("/"))
    return any(folder.startswith("session-") and folder.endswith(".scope") for folder in folders)


def ends_processes(files: Iterable[str], user: str) -> bool:
    """Tell whether logind ends what a user's session leaves behind; detaching does not help against it.

    Where no file sets it, the default is the distribution's, which the shipped file shows in a comment;
    where that is missing too, nothing is claimed.

    Args:
        files: the texts of logind.conf and its drop-ins; a later one overrides those before it.
        user: the user's name.
    """
    shown: dict[str, str] = {}
    set_: dict[str, str] = {}
    for text in files:
        for key, value, commented in _entries(text):
            (shown if commented else set_)[key] = value
    said = {"KillExcludeUsers": "root", **shown, **set_}
    if said.get("KillUserProcesses", "").lower() not in _TRUE:
        return False
    only = said.get("KillOnlyUsers", "").split()
    return user not in said["KillExcludeUsers"].split() and (not only or user in only)


def _entries(text: str) -> Iterator[tuple[str, str, bool]]:
    """Yield key, value and whether it stands in a comment."""
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        key = name.strip("# \t")
        if equals and key.startswith("Kill"):
            yield key, value.strip(), name.lstrip().startswith("#")
