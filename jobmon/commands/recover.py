"""``jobmon recover``: bring back every monitor that a reboot or a kill ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.shop import open_shop
from jobmon.views.cells import one_line
from jobmon_core.engine.launcher import Launcher
from jobmon_core.engine.recovery import Recovery

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Restart the monitors that are provably gone. A job that ended meanwhile is analysed and told.
Running it twice changes nothing; monitors that live, here or on another host, are left alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``recover``."""
    parser.description = DESCRIPTION
    parser.epilog = "examples:\n  jobmon recover"


def run(options: argparse.Namespace) -> int:
    """Recover, and tell what was done per job."""
    del options  # it has none
    shop = open_shop()
    done = 0
    for finding in Recovery(shop, Launcher(shop.home)).recover():
        print(one_line(f"{finding.subject}: {finding.deed}"))
        done += 1
    if not done:
        print("nothing to do: no job is being watched")
    return 0
