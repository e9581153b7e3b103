"""The dialogue of ``jobmon recover --install`` and ``--uninstall``: show, ask, do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.errors import say
from jobmon_core.app.autostart import Comeback
from jobmon_core.domain.autostart.command import NoWayBack, Way

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.context import Workshop
    from jobmon_core.domain.autostart.command import Offer

_UNDONE = 1


def install(shop: Workshop, wanted: Way | None, *, sure: bool) -> int:
    """Have something on this machine run ``jobmon recover`` again and again; return the exit code."""
    comeback = Comeback.of(shop, _this_program())
    offers = comeback.offers()
    way = wanted or comeback.proposed(offers)
    offer = next(each for each in offers if each.way is way)
    if offer.hindrance:
        raise NoWayBack(f"{way} can't be used here: {offer.hindrance}")
    _show("this machine offers:", (_offered(each) for each in offers))
    means = comeback.means[way]
    _show(f"--install {way} adds", means.shown())
    for name in comeback.left_behind:
        say(f"${name} is too secret to be carried along: what is restarted will not know it")
    if not _agreed(sure=sure):
        return _UNDONE
    if means.install():
        print(f"installed with {way}; `jobmon recover --uninstall` takes it away")
    else:
        print(f"it is installed with {way} already; nothing was changed")
    return 0


def uninstall(shop: Workshop, *, sure: bool) -> int:
    """Take away what was installed, whatever the way; return the exit code."""
    comeback = Comeback.of(shop, _this_program())
    installed = [means for means in comeback.means.values() if means.installed()]
    if not installed:
        print("nothing is installed; nothing was changed")
        return 0
    for means in installed:
        _show(f"--uninstall takes away, of {means.way},", means.held())
    if not _agreed(sure=sure):
        return _UNDONE
    for means in installed:
        means.uninstall()
        print(f"taken away from {means.way}")
    return 0


def _this_program() -> tuple[str, ...]:
    """Return how this very jobmon is called from anywhere."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py":
        return sys.executable, "-m", "jobmon"
    return (str(started.absolute()),)


def _offered(offer: Offer) -> str:
    if offer.hindrance:
        return f"  {offer.way:<9} no: {offer.hindrance}"
    words = [word for word in ("installed" if offer.installed else "", offer.caution) if word]
    return f"  {offer.way:<9} yes{': ' if words else ''}{'; '.join(words)}"


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
