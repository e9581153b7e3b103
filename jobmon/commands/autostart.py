"""``--install`` and ``--uninstall`` of `recover` and `patrol`: show the changes, ask, apply them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import Parser, add_flags, is_confirmed, print_lines, stdout_console
from jobmon.errors import say
from jobmon_core.domain.many.autostart.command import AutostartMethod, AutostartUnavailable

if TYPE_CHECKING:
    import argparse

    from jobmon_core.app.autostart import Autostart
    from jobmon_core.domain.many.autostart.command import MethodStatus

_NOT_CHANGED = 1  # exit code
_BEST = "best"


def add_install_arguments(parser: Parser) -> argparse._ActionsContainer:
    """Declare ``--install``, ``--uninstall`` and ``--yes``; return the group of the exclusive ones."""
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--install",
        nargs="?",
        const=_BEST,
        choices=(_BEST, *(method.value for method in AutostartMethod)),
        metavar="METHOD",
        help="run automatically; METHOD is cron, systemd, scrontab or best (default): the best available",
    )
    add_flags(modes, uninstall="remove what --install added")
    add_flags(parser, yes="install or uninstall without asking")
    return modes


def install(autostart: Autostart, wanted: str, *, confirmed: bool) -> int:
    """Make this machine run a command regularly; return 1 if the user does not confirm it.

    Raises:
        AutostartUnavailable: the ``wanted`` method (``best``: every method) cannot be used here.
    """
    statuses = autostart.statuses()
    method = autostart.recommended(statuses) if wanted == _BEST else AutostartMethod(wanted)
    status = next(each for each in statuses if each.method is method)
    if status.unavailable_because:
        raise AutostartUnavailable(f"{method} cannot be used here: {status.unavailable_because}")
    print("methods on this machine:")
    for each in statuses:
        print_lines(stdout_console().prose(status_line(each), hanging="    "))
    if status.never_runs_because:
        name = autostart.regular.name
        say(f"warning: {status.never_runs_because}: {method} does not run `{name}` until that changes")
    installer = autostart.installers[method]
    print_lines(installer.preview())
    for name in autostart.omitted_secrets:
        say(f"${name} is a secret and is not stored; what {method} starts will not have it")
    if not _confirm(confirmed=confirmed):
        return _NOT_CHANGED
    if installer.install():
        print(f"installed with {method}; `{autostart.regular.name} --uninstall` removes it")
    else:
        print(f"already installed with {method}; nothing was changed")
    return 0


def uninstall(autostart: Autostart, *, confirmed: bool) -> int:
    """Remove what was installed by any method; return 1 if the user does not confirm it."""
    installed = [installer for installer in autostart.installers.values() if installer.installed()]
    if not installed:
        print("nothing is installed; nothing was changed")
        return 0
    for installer in installed:
        print_lines(installer.installed_entries())
    if not _confirm(confirmed=confirmed):
        return _NOT_CHANGED
    for installer in installed:
        installer.uninstall()
        print(f"removed from {installer.method}")
    return 0


def status_line(status: MethodStatus) -> str:
    """Return whether a method can be used here, with the reason or its limits."""
    verdict = "no"
    if status.is_usable:
        verdict = "yes"
    why = status.warning if status.is_usable else status.unavailable_because or status.never_runs_because
    notes = [note for note in ("installed" if status.installed else "", why) if note]
    return f"  {status.method:<9} {verdict}{': ' if notes else ''}{'; '.join(notes)}"


def _confirm(*, confirmed: bool) -> bool:
    """Return whether to apply the changes: with ``--yes``, or if the user agrees on the terminal."""
    if confirmed:
        return True
    if not sys.stdin.isatty():
        say("nothing was changed: stdin is not a terminal; use --yes to apply the changes")
        return False
    return is_confirmed("apply these changes?", "nothing was changed")
