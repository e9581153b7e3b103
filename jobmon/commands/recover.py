"""``jobmon recover``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.autostart import add_install_arguments, install, uninstall
from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    jobmon_command,
    open_context,
    print_lines,
    result_text,
    stdout_console,
)
from jobmon.errors import UsageError
from jobmon_core.app.outcome import ANSWERS
from jobmon_core.app.recover import RecoverJobs, wait_for_monitors
from jobmon_core.domain.errors import CommandBusy
from jobmon_core.domain.humanize import count
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context

DESCRIPTION = """\
Restart the monitors that died, and replace those on other hosts that have sent no heartbeat for 15
minutes. Jobs that ended in the meantime are analysed and reported. Messages that could not be
delivered are sent again if the settings of their channel have changed, or if `jobmon test`
or `jobmon test-discord` has reached the channel since. Living monitors are left alone, so it is
safe to run this at any time.

--install makes this machine run `jobmon recover` after every reboot and every ten minutes, via
cron, a timer of your systemd user instance, or Slurm's scrontab. It shows the changes and asks
before applying them; --uninstall undoes exactly those changes."""
EPILOG = """\
examples:
  jobmon recover
  jobmon recover --install            choose a method, show it, ask, install it
  jobmon recover --install cron --yes
  jobmon recover --uninstall"""


def add_arguments(parser: Parser) -> None:
    modes = add_install_arguments(parser)
    add_flags(modes, quiet="print only changes; exit 0 if another command restarts monitors")
    add_flags(parser, stay="exit only after all monitors on this host have ended (for use in a Slurm job)")


def run(options: Options) -> int:
    ctx = open_context()
    if options.install or options.uninstall:
        from jobmon_core.app.autostart import Autostart

        if options.stay:
            raise UsageError("--stay cannot be combined with --install or --uninstall")
        methods = Autostart.of(ctx, jobmon_command())
        if options.uninstall:
            return uninstall(methods, confirmed=options.yes)
        return install(methods, options.install, confirmed=options.yes)
    if options.yes:
        raise UsageError("--yes requires --install or --uninstall")
    _recover(ctx, quiet=options.quiet)
    if options.stay:
        wait_for_monitors(ctx)
    return 0


def _recover(ctx: Context, *, quiet: bool) -> None:
    """Restart monitors; print what was done, and how many other jobs are watched."""
    hosts, changed = list[str](), list[str]()
    printed = 0
    try:
        for result in RecoverJobs(ctx, MonitorStarter(ctx)).recover():
            if result.watched_on:
                hosts.append(result.watched_on)
            elif result.is_changed or not quiet:
                print(result_text(result.subject, result.action), flush=True)
                printed += result.is_job
            if result.is_changed and result.is_job:
                changed.append(f"{result.subject}: {result.action}")
    except CommandBusy:
        if not quiet:  # the autostart tries again in a few minutes
            raise
    ANSWERS.append(changed)
    if not quiet and (hosts or not printed):
        print_lines(stdout_console().prose(_summary(hosts, is_rest=printed > 0)))


def _summary(hosts: Sequence[str], *, is_rest: bool) -> str:
    prefix = "nothing to do: "
    if is_rest:
        prefix = ""
    if not hosts:
        return f"{prefix}no jobs are being watched"
    verb = "are"
    if len(hosts) == 1:
        verb = "is"
    jobs = count(len(hosts), "other job" if is_rest else "job")
    return f"{prefix}{jobs} {verb} being watched on {', '.join(sorted(set(hosts)))}"
