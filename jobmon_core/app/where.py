"""Describe the installation, the files and the settings of one user, e.g. for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.app.autostart import Autostart
from jobmon_core.app.patterns import check
from jobmon_core.app.setup import describe_home, overriding_variables
from jobmon_core.app.submit_warnings import exposed_home
from jobmon_core.domain.channels import Route
from jobmon_core.domain.errors import ConfigInvalid, JobmonError
from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs
from jobmon_core.store.home import HOME_VARIABLE
from jobmon_core.system.environment import dir_of_program, missing_slurm_conf
from jobmon_core.system.files import shipped_file
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.context import Context

_VERSION_TIMEOUT_S = 5.0


def describe_installation(ctx: Context, command: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield names and values, without secrets; one that cannot be determined says why. Creates nothing."""
    runner, uname = Runner(), os.uname()
    yield "jobmon", f"{__version__}, {Path(__file__).resolve().parents[2]}"
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    yield "host", f"{uname.nodename}, {uname.sysname} {uname.release}"
    yield "Slurm", _slurm(ctx, runner)
    exposed = exposed_home(ctx.home)
    yield "home", f"{ctx.home.root} ({_reason_for_home(ctx)}{f'; {exposed}' if exposed else ''})"
    yield "config", _or_why(lambda: _config(ctx))
    yield "backend", _or_why(lambda: ctx.configuration().backend)
    yield "channels", _or_why(lambda: _channels(ctx))
    yield "patterns", _or_why(lambda: _patterns(ctx.home.patterns))
    yield "state", _or_why(lambda: _state(ctx))
    yield "filesystem", describe_home(ctx.home.root).removeprefix(f"{ctx.home.root} is on ")
    yield "autostart", _or_why(lambda: _autostart(ctx, command, runner))


def _or_why(describe: Callable[[], str]) -> str:
    try:
        return describe()
    except ConfigInvalid as error:
        return "see config" if error.source.endswith("config.json") else mask_webhooks(str(error))
    except (JobmonError, OSError) as error:
        return mask_webhooks(str(error))


def _slurm(ctx: Context, runner: Runner) -> str:
    if why := missing_slurm_conf(ctx.environment):
        return why
    result = runner.capture(["sbatch", "--version"], _VERSION_TIMEOUT_S)
    if not succeeded(result):
        return result.error_text
    conf = ctx.environment.get("SLURM_CONF", "")
    return f"{result.stdout.strip()}, {dir_of_program('sbatch', ctx.environment)}" + (
        f", SLURM_CONF={conf}" if conf else ""
    )


def _reason_for_home(ctx: Context) -> str:
    if ctx.environment.get(HOME_VARIABLE, "").strip():
        return f"from ${HOME_VARIABLE}"
    return "this checkout" if (ctx.home.root / "config.json.example").is_file() else "the default"


def _config(ctx: Context) -> str:
    path = ctx.home.config
    try:
        ctx.configuration()
    except ConfigInvalid as error:
        return mask_webhooks(f"{path}: {'; '.join(error.faults)}")
    return str(path) if path.exists() else f"{path} does not exist; `jobmon init` writes it"


def _channels(ctx: Context) -> str:
    config = ctx.configuration()
    names = {route: [each.channel.name for each in config.channels_for(route)] for route in Route}
    text = "; ".join(f"{route}: {', '.join(names[route]) or 'none'}" for route in Route)
    variables = ", ".join(f"${name}" for name in overriding_variables(ctx))
    return f"{text} ({variables} set)" if variables else text


def _patterns(path: Path) -> str:
    if not path.exists():
        return "only the shipped ones"
    (checked,) = check((path,), path)
    return f"{path}: {count(len(checked.faults), 'fault')}" if checked.faults else str(path)


def _state(ctx: Context) -> str:
    folder = ctx.home.root / "state"
    if not folder.is_dir():
        return f"{folder} does not exist; the first job creates it"
    statuses = list(list_jobs(ctx))
    jobs = [each for each in statuses if isinstance(each, JobStatus)]
    numbers = {health: sum(each.health is health for each in jobs) for health in Health}
    monitors = ", ".join(f"{number} {health}" for health, number in numbers.items() if number)
    parts = [count(len(jobs), "job") + (f" (monitors: {monitors})" if monitors else "")]
    if undelivered := sum(each.job.undelivered for each in jobs):
        parts.append(f"{count(undelivered, 'message')} not delivered")
    if unreadable := len(statuses) - len(jobs):
        parts.append(f"{count(unreadable, 'file')} unreadable")
    return f"{folder}: {', '.join(parts)}"


def _autostart(ctx: Context, command: tuple[str, ...], runner: Runner) -> str:
    autostart = Autostart.of(ctx, command, runner)
    statuses = autostart.statuses()
    installed = [each for each in statuses if each.installed]
    names = [
        f"{each.method} ({why})" if (why := each.never_runs_because) else each.method.value
        for each in installed
    ]
    if names:
        return ", ".join(names)
    try:
        autostart.recommended(statuses)
    except AutostartUnavailable as error:
        return f"none: run `jobmon recover` after a reboot; {error}"
    return "none: run `jobmon recover` after a reboot, or `jobmon recover --install` once"


def completion_script(name: str) -> str:
    """Return the text of a completion script that jobmon ships."""
    return shipped_file(name, "share").read_text(encoding="utf-8")
