"""``jobmon test-discord``: prove that both channels take even the largest message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import open_context
from jobmon_core.app.setup import try_channels

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``test-discord``."""
    parser.description = (
        "Post a message of the worst allowed size to both channels, and say what Discord answered."
    )
    parser.epilog = "examples:\n  jobmon test-discord"


def run(options: argparse.Namespace) -> int:
    """Try both channels; succeed only if both took the message."""
    del options  # it has none
    failed = 0
    for trial in try_channels(open_context()):
        print(f"{trial.route}: {'works' if trial.worked else 'FAILED'} ({trial.channel})")
        for line in (trial.answer, trial.advice):
            if line and not trial.worked:
                print(f"  {line}")
        failed += not trial.worked
    return 1 if failed else 0
