"""``jobmon patterns``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    add_verb,
    open_context,
    print_lines,
    print_result,
    stdout_console,
)
from jobmon.errors import say
from jobmon.views.diagnosis import check_lines, pattern_lines, patterns_json, test_lines
from jobmon_core.app.patterns import (
    check,
    effective_patterns,
    files_in_use,
    own_pattern_file,
    read_own_patterns,
    test_on_log,
)
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

DESCRIPTION = """\
List, check and test the patterns by which jobmon recognises failures. Put your own patterns into
patterns.json beside config.json. A pattern with the id of a shipped one replaces it; the others are
tried before the shipped ones. Only the first pattern that matches a line counts.

A pattern has a role: root (a possible root cause), symptom (a consequence of one), context (neither,
e.g. a harmless message), success (the program reports success) or retry (what failed is started again)."""
EPILOG = """\
examples:
  jobmon patterns list
  jobmon patterns list cuda memory      patterns that contain both words
  jobmon patterns check my-patterns.json
  jobmon patterns test train-8123.err"""


def add_arguments(parser: Parser) -> None:
    actions = parser.add_subparsers(metavar="list|check|test", required=True)
    listing = add_verb(actions, "list", "show every pattern in use", action=_list)
    listing.add_argument(
        "word",
        nargs="*",
        metavar="WORD",
        help="list only the patterns that contain all these words in their id, title, cause or advice; upper "
        "and lower case are the same",
    )
    add_flags(listing, json="print the patterns as a JSON list")
    faults = "report every fault of a pattern file, and test its patterns on their examples"
    checking = add_verb(actions, "check", faults, action=_check)
    checking.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="default: your patterns.json, if any, and the shipped file",
    )
    testing = add_verb(actions, "test", "show which lines of a log the patterns match", action=_test)
    testing.add_argument("file", metavar="FILE", help="log file")
    for verb in (listing, checking, testing):
        verb.epilog = EPILOG


def run(options: Options) -> int:
    action: Callable[[Options], int] = options.action
    return action(options)


def _list(options: Options) -> int:
    own = read_own_patterns(open_context())
    _say_note(own.note)
    entries = [entry for entry in effective_patterns(own) if entry.contains(options.word)]
    if options.json or entries:
        print_result(options, patterns_json, pattern_lines, entries)
    else:
        say(f"no pattern contains {' and '.join(map(repr, options.word))}")
    return 0


def _check(options: Options) -> int:
    """Print the faults on stdout, because they are the result; return 1 if there are any."""
    own = None if options.file else own_pattern_file(open_context())
    files = (options.file,) if options.file else files_in_use(own)
    exit_code = 0
    for checked in check(files, own):
        print_lines(check_lines(checked.source, len(checked.patterns), checked.faults))
        exit_code |= bool(checked.faults)
    return exit_code


def _test(options: Options) -> int:
    own = read_own_patterns(open_context())
    _say_note(own.note)
    print_lines(test_lines(test_on_log(options.file, own), stdout_console()))
    return 0


def _say_note(note: str) -> None:
    if note:
        say(one_line(note))
