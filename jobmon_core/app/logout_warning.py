"""The warning, printed once, that this machine kills a user's monitors at logout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.host.logind import Logind
    from jobmon_core.store.home import Home

_PRINTED = "told-of-logout"  # the file that records that the warning was printed
_WARNING = (
    "this machine kills all your processes when you log out, monitors included (logind's KillUserProcesses): "
    "`jobmon recover --install systemd` and `loginctl enable-linger` restart them within minutes; otherwise "
    "run `jobmon recover` at your next login"
)


def warning(home: Home, user: str, logind: Logind | None = None) -> str:
    """Return the warning, empty if monitors survive a logout or the warning was printed before.

    It reads only a few files, because `jobmon submit` calls it. A process outside a login session is not
    affected by logind.
    """
    printed = home.state / _PRINTED
    if printed.exists():
        return ""
    from jobmon_core.domain.autostart.logind_rules import ends_processes, in_session
    from jobmon_core.host.logind import Logind

    logind = logind or Logind()
    if not in_session(logind.cgroups()) or not ends_processes(logind.settings(), user):
        return ""
    try:
        printed.touch(mode=0o600)
    except OSError:
        return ""  # if the file cannot be written, the warning would repeat with each submission
    return _WARNING
