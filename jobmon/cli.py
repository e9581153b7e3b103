"""The entry point of the command line: lists the commands, and runs the one that the user gives."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from jobmon import streams
from jobmon.errors import UsageError, run_guarded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# Command -> its summary. Its module in jobmon.commands has the same name, with _ instead of -.
COMMANDS = {
    "submit": "submit a job as sbatch does and watch it",
    "watch": "watch a job not submitted through jobmon",
    "status": "list the watched jobs",
    "show": "show everything known about one job",
    "logs": "show the log of a job's monitor",
    "diagnose": "explain why a job failed, or what a log file shows",
    "patterns": "list, check and test the failure patterns",
    "cancel": "stop watching a job; the job itself keeps running",
    "recover": "restart monitors that were killed or lost in a reboot",
    "test-discord": "post the largest possible test message to each channel",
    "init": "write config.json from two webhook URLs",
    "inbox": "receive messages on this machine instead of in Discord, to try out jobmon",
}


def program() -> NoReturn:
    """Run jobmon as a program, without two services of Python that would add 10 ms to each `jobmon submit`.

    Imports leave no garbage to collect, and the kernel frees the memory of a process that ends.
    """
    gc.set_threshold(100_000)
    os._exit(main())  # `main` has flushed stdout; stderr is flushed at each line


def main(arguments: Sequence[str] | None = None) -> int:
    """Run jobmon with ``arguments`` (default: ``sys.argv``) and return the exit code."""
    streams.prepare()
    argv = list(sys.argv[1:] if arguments is None else arguments)
    return run_guarded(lambda: _run(argv))


def _run(argv: list[str]) -> int:
    name = argv[0] if argv else ""
    if name == "submit":
        from jobmon.commands import submit

        return submit.run(argv[1:])
    if not name.startswith("-") and name not in COMMANDS:
        raise UsageError(_unknown_command(name))
    from jobmon.parser import build_parser, load_command  # `submit` is quicker without argparse

    options = build_parser(name, COMMANDS).parse_args(argv)
    return load_command(options.command).run(options)


def _unknown_command(name: str) -> str:
    """Return the error text for a missing or unknown command; it suggests a command with a similar name."""
    choices = ", ".join(COMMANDS)
    if not name:
        return f"no command given; choose one of {choices}; see `jobmon --help`"
    from difflib import get_close_matches

    similar = get_close_matches(name, COMMANDS, n=1, cutoff=0.7)
    hint = f"did you mean '{similar[0]}'?" if similar else f"choose one of {choices}"
    return f"unknown command {name!r}; {hint}"
