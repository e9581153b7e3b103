"""Whether logind kills a user's monitors at logout, from its configuration. Source: logind.conf(5).

No regular expressions: compiling them would delay `jobmon submit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_TRUE = ("yes", "y", "true", "t", "on", "1")


def in_session(cgroups: str) -> bool:
    """Return from ``/proc/self/cgroup`` whether a process belongs to a login session.

    ``KillUserProcesses`` concerns only those that do. Processes in a container or of the user's own systemd
    do not; those of cron do only if PAM opens a session for them.
    """
    folders = (folder for line in cgroups.splitlines() for folder in line.split("/"))
    return any(folder.startswith("session-") and folder.endswith(".scope") for folder in folders)


def in_slurm_job(cgroups: str) -> bool:
    """Return from the same text whether a process belongs to a Slurm job, whose end kills it.

    ``$SLURM_JOB_ID`` proves nothing: `salloc` sets it in a shell outside the job. The cgroup of a job is
    ``job_12``, since 26.05 its SLUID; ``system`` is that of slurmd.
    """
    for line in cgroups.splitlines():
        above = ""
        for folder in line.split("/"):
            is_scope = above.endswith("slurmstepd.scope") and folder != "system"
            if is_scope or (folder.startswith("job_") and folder[4:].isdecimal()):
                return True
            above = folder
    return False


def kills_at_logout(files: Iterable[str], user: str) -> bool:
    """Return whether logind kills the processes of a user's session at logout, detached ones included.

    If no file sets ``KillUserProcesses``, the distribution's default applies, which the shipped file shows in
    a comment; without one the result is False. ``files`` are the texts of logind.conf and its drop-ins; a
    later one overrides those before it.
    """
    defaults: dict[str, str] = {}
    settings: dict[str, str] = {}
    for text in files:
        for key, value, commented in _entries(text):
            (defaults if commented else settings)[key] = value
    effective = {"KillExcludeUsers": "root", **defaults, **settings}
    if effective.get("KillUserProcesses", "").lower() not in _TRUE:
        return False
    only = effective.get("KillOnlyUsers", "").split()
    return user not in effective["KillExcludeUsers"].split() and (not only or user in only)


def _entries(text: str) -> Iterator[tuple[str, str, bool]]:
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        key = name.strip("# \t")
        if equals and key.startswith("Kill"):
            yield key, value.strip(), name.lstrip().startswith("#")
