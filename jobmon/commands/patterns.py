"""``jobmon patterns``: the known failures: list them, check a file of them, try them on a log."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context, stdout_console
from jobmon.views.patterns import checked_lines, entries_json, entry_lines, trial_lines
from jobmon_core.app.patterns import check, effective_patterns, in_use, own_patterns, test_on_log

if TYPE_CHECKING:
    from collections.abc import Callable

DESCRIPTION = """\
The failures that jobmon knows, as data. Your own stand in patterns.json beside config.json: a pattern
with the id of a shipped one takes its place, others are asked first. The first that matches a line
claims it."""
EPILOG = """\
examples:
  jobmon patterns list
  jobmon patterns check my-patterns.json
  jobmon patterns test train-8123.err"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be done with patterns."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    whats = parser.add_subparsers(metavar="WHAT", required=True)
    listing = _add(whats, "list", "show every pattern in force", _list)
    listing.add_argument("--json", action="store_true", help="a list of objects with the same words")
    checking = _add(whats, "check", "name every fault of pattern files, their examples included", _check)
    checking.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="default: your patterns.json, and the shipped one"
    )
    testing = _add(whats, "test", "show what the patterns match in a log", _test)
    testing.add_argument("file", metavar="FILE", help="a log")


def run(options: argparse.Namespace) -> int:
    """Do what was chosen."""
    do: Callable[[argparse.Namespace], int] = options.do
    return do(options)


def _add(
    whats: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    do: Callable[[argparse.Namespace], int],
) -> argparse.ArgumentParser:
    sub = whats.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sub.set_defaults(do=do)
    return sub


def _list(options: argparse.Namespace) -> int:
    entries = effective_patterns(own_patterns(open_context()))
    if options.json:
        print(json.dumps(entries_json(entries), indent=2))
    else:
        print(*entry_lines(entries, stdout_console()), sep="\n")
    return 0


def _check(options: argparse.Namespace) -> int:
    """Print one line a fault on stdout: faults are what was asked for."""
    files = (options.file,) if options.file else in_use(own_patterns(open_context()))
    faulty = False
    for checked in check(files):
        print(*checked_lines(checked), sep="\n")
        faulty = faulty or bool(checked.faults)
    return 1 if faulty else 0


def _test(options: argparse.Namespace) -> int:
    trial = test_on_log(options.file, own_patterns(open_context()))
    print(*trial_lines(trial, stdout_console()), sep="\n")
    return 0
