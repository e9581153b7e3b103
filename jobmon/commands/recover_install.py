"""The dialogue of ``jobmon recover --install`` and ``--uninstall``: show, ask, do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.errors import say
from jobmon_core.app.autostart import Autostart
from jobmon_core.domain.autostart.command import AutostartMethod, AutostartUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.context import Context
    from jobmon_core.domain.autostart.command import MethodStatus

_UNDONE = 1


def install(ctx: Context, wanted: AutostartMethod | None, *, sure: bool) -> int:
    """Have something on this machine run ``jobmon recover`` again and again; return the exit code."""
    comeback = Autostart.of(ctx, _this_program())
    offers = comeback.statuses()
    way = wanted or comeback.recommended(offers)
    offer = next(each for each in offers if each.method is way)
    if offer.unavailable_because:
        raise AutostartUnavailable(f"{way} can't be used here: {offer.unavailable_because}")
    _show("this machine offers:", (_offered(each) for each in offers))
    means = comeback.backends[way]
    _show(f"--install {way} adds", means.preview())
    for name in comeback.omitted_secrets:
        say(f"${name} is too secret to be carried along: what is restarted will not know it")
    if not _agreed(sure=sure):
        return _UNDONE
    if means.install():
        print(f"installed with {way}; `jobmon recover --uninstall` takes it away")
    else:
        print(f"it is installed with {way} already; nothing was changed")
    return 0


def uninstall(ctx: Context, *, sure: bool) -> int:
    """Take away what was installed, whatever the way; return the exit code."""
    comeback = Autostart.of(ctx, _this_program())
    installed = [means for means in comeback.backends.values() if means.installed()]
    if not installed:
        print("nothing is installed; nothing was changed")
        return 0
    for means in installed:
        _show(f"--uninstall takes away, of {means.method},", means.installed_entries())
    if not _agreed(sure=sure):
        return _UNDONE
    for means in installed:
        means.uninstall()
        print(f"taken away from {means.method}")
    return 0


def _this_program() -> tuple[str, ...]:
    """Return how this very jobmon is called from anywhere."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return sys.executable, "-m", "jobmon"
    return (str(started.absolute()),)


def _offered(offer: MethodStatus) -> str:
    if offer.unavailable_because:
        return f"  {offer.method:<9} no: {offer.unavailable_because}"
    words = [word for word in ("installed" if offer.installed else "", offer.warning) if word]
    return f"  {offer.method:<9} yes{': ' if words else ''}{'; '.join(words)}"


def _show(head: str, lines: Iterable[str]) -> None:
    print(head)
    for line in lines:
        print(line)


def _agreed(*, sure: bool) -> bool:
    """Ask on a terminal; a script says --yes."""
    if sure:
        return True
    if not sys.stdin.isatty():
        say("nothing was changed: there is nobody to ask; --yes does it")
        return False
    print("do that? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    say("nothing was changed")
    return False
