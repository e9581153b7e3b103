"""The warnings that a monitor will not live long: this machine kills it at logout, or with a Slurm job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.host.logind import Logind
    from jobmon_core.store.home import Home

_IN_JOB = (
    "warning: this is inside a Slurm job, with whose end Slurm kills the monitor of job {job}. To be told of "
    "the end of {job}, run `jobmon recover` on a login node later; `jobmon submit --sentinel` does without"
)
_GIVEN = "told-of-logout"  # the file that records that the warning was given
_WARNING = (
    "this machine kills all processes of your login session when you log out, monitors included (logind's "
    "KillUserProcesses). To have monitors restarted within minutes, run `jobmon recover --install systemd` "
    "and `loginctl enable-linger`; otherwise run `jobmon recover` at your next login"
)


def warning_in_job(job: str, logind: Logind | None = None) -> str:
    """Return the warning that the monitor of ``job`` ends with the Slurm job around it; empty outside one."""
    from jobmon_core.domain.many.autostart.logind_rules import in_slurm_job
    from jobmon_core.host.logind import Logind

    return _IN_JOB.format(job=job) if in_slurm_job((logind or Logind()).cgroups()) else ""


def take_warning(home: Home, user: str, logind: Logind | None = None) -> str:
    """Return the warning and record that it was given; empty if it was given before or does not apply.

    It does not apply if this process is outside a login session: logind kills only processes of sessions.
    If it cannot be recorded, it is not given. `jobmon submit` calls this, so it reads only a few files.
    """
    given = home.state / _GIVEN
    if given.exists():
        return ""
    from jobmon_core.domain.many.autostart.logind_rules import in_session, kills_at_logout
    from jobmon_core.host.logind import Logind

    logind = logind or Logind()
    if not in_session(logind.cgroups()) or not kills_at_logout(logind.settings(), user):
        return ""
    try:
        given.touch(mode=0o600)
    except OSError:
        return ""  # if the file cannot be written, the warning would repeat with each submission
    return _WARNING
