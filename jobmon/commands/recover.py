"""``jobmon recover``: bring back every monitor that a reboot or a kill ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import open_context
from jobmon.errors import UsageError
from jobmon.views.text_width import one_line
from jobmon_core.app.recover import RecoverJobs, wait_for_monitors
from jobmon_core.domain.autostart.command import AutostartMethod
from jobmon_core.domain.errors import CommandBusy
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    import argparse

    from jobmon_core.context import Context

DESCRIPTION = """\
Restart the monitors that are provably gone. A job that ended meanwhile is analysed and told.
Running it twice changes nothing; monitors that live, here or on another host, are left alone.

With --install this is done for you after every reboot and every ten minutes, by what this
machine allows: cron, a timer of your own systemd, or Slurm's scrontab. What will be done is
shown first; --uninstall takes exactly that away again."""
EPILOG = """\
examples:
  jobmon recover
  jobmon recover --install            propose a way, ask, do it
  jobmon recover --install cron --yes
  jobmon recover --uninstall"""

BEST = "best"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``recover``."""
    parser.description = DESCRIPTION
    parser.epilog = EPILOG
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--install",
        nargs="?",
        const=BEST,
        choices=(BEST, *(way.value for way in AutostartMethod)),
        metavar="WAY",
        help="have it run by itself: cron, systemd or scrontab; without one, the best there is",
    )
    what.add_argument("--uninstall", action="store_true", help="take away what --install put there")
    what.add_argument("--quiet", action="store_true", help="say nothing unless something was done")
    parser.add_argument("--yes", action="store_true", help="do not ask before installing or uninstalling")
    parser.add_argument(
        "--stay", action="store_true", help="end only with the monitors of this host: for a Slurm job"
    )


def run(options: argparse.Namespace) -> int:
    """Recover, and tell what was done per job; or see to it that this happens by itself."""
    ctx = open_context()
    if options.install or options.uninstall:
        from jobmon.commands import recover_install

        if options.stay:
            raise UsageError("--stay goes with recovering, not with --install or --uninstall")
        if options.uninstall:
            return recover_install.uninstall(ctx, sure=options.yes)
        way = None if options.install == BEST else AutostartMethod(options.install)
        return recover_install.install(ctx, way, sure=options.yes)
    if options.yes:
        raise UsageError("--yes goes with --install or --uninstall")
    _recover(ctx, quiet=options.quiet)
    if options.stay:
        wait_for_monitors(ctx)
    return 0


def _recover(ctx: Context, *, quiet: bool) -> None:
    done = 0
    try:
        for finding in RecoverJobs(ctx, MonitorStarter(ctx)).recover():
            if finding.acted or not quiet:
                print(one_line(f"{finding.subject}: {finding.action}"), flush=True)
            done += 1
    except CommandBusy:
        if not quiet:  # cron and systemd run it again in a few minutes
            raise
    if not done and not quiet:
        print("nothing to do: no job is being watched")
