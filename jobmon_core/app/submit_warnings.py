"""Warnings about the host, the shell and the folder of a submission; they cost a few system calls."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.request import Request, log_files
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from jobmon_core.host.logind import Logind
    from jobmon_core.scheduler.base import Backend
    from jobmon_core.store.home import Home

# below it, a monitor of a few jobs with agents may be unable to start squeue or to send
_MIN_OPEN_FILES = 64


def open_files_warning() -> str:
    """Return the warning that a monitor may open too few files to do its work, if so.

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
    """Return that every user may put files into jobmon's home, and what to do, if so."""
    try:
        mode = os.stat(home.root).st_mode  # noqa: PTH116 - as fast as possible
    except OSError:
        return ""
    if not stat.S_ISDIR(mode) or not mode & stat.S_IWOTH:
        return ""
    if mode & stat.S_ISVTX:  # such as /tmp, which is meant to be so
        return f"every user may write to {home.root}: set $JOBMON_HOME to a folder of yours"
    return f"every user may write to {home.root}: run `chmod o-w {shlex.quote(str(home.root))}`"


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
    """Return the warning that the monitor of ``job`` ends with the Slurm job around it, if there is one."""
    from jobmon_core.domain.many.autostart.logind_rules import in_slurm_job
    from jobmon_core.host.logind import Logind

    return _IN_JOB.format(job=job) if in_slurm_job((logind or Logind()).cgroups()) else ""


def take_warning(home: Home, user: str, logind: Logind | None = None) -> str:
    """Return the warning, once, and record that it was given; empty if it does not apply.

    It does not outside a login session: logind kills only processes of sessions. If it cannot be recorded, it
    is not given. `jobmon submit` calls this, so it reads only a few files.
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


def log_warning(request: Request, backend: Backend) -> str:
    """Return why Slurm cannot write a log of the job, by what this host sees, and what to do."""
    if backend.test_only is None:  # it makes the folder
        return ""
    start = os.path.abspath(request.options.get("chdir", ""))  # noqa: PTH100 - as Slurm: no links resolved
    logs = log_files(request, start, user_name())
    if all(os.path.isdir(os.path.dirname(log)) and not os.path.isdir(log) for log in logs):  # noqa: PTH112, PTH120 - texts
        return ""
    from jobmon_core.domain.before.batch_script.model import BatchScript
    from jobmon_core.domain.before.checks.facts import Facts
    from jobmon_core.domain.before.checks.rules.script import logs as judge_logs
    from jobmon_core.domain.finding import Severity
    from jobmon_core.observe.batch_script import look_at
    from jobmon_core.system.runner import Runner

    paths = {path: look_at(path) for log in logs for path in (log, os.path.dirname(log))}  # noqa: PTH120 - a text
    version = backend.version(Runner())
    judged = judge_logs(Facts(request, BatchScript(), logs=logs, paths=paths, slurm_version=version))
    return f"{judged.text}. {judged.advice}" if judged.severity is Severity.CRITICAL else ""
