"""The word, said once, to a user whose monitors the machine ends at logout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.host.logind import Logind
    from jobmon_core.store.home import Home

_TOLD = "told-of-logout"
_WORDS = (
    "this machine ends all your processes when you log out (KillUserProcesses of logind), monitors included: "
    "`jobmon recover --install systemd` and `loginctl enable-linger` bring them back within minutes; without "
    "that run `jobmon recover` at your next login"
)


def warning(home: Home, user: str, logind: Logind | None = None) -> str:
    """Return what the user should be told of it, empty where there is nothing or it was said before.

    Only files are read, for the user waits; what started us outside of any session is safe from logind.
    """
    told = home.state / _TOLD
    if told.exists():
        return ""
    from jobmon_core.domain.autostart.logind_rules import ends_processes, in_session
    from jobmon_core.host.logind import Logind

    logind = logind or Logind()
    if not in_session(logind.cgroups()) or not ends_processes(logind.settings(), user):
        return ""
    try:
        told.touch(mode=0o600)
    except OSError:
        return ""  # a full disk has been told of already; this is said where it can be said once
    return _WORDS
