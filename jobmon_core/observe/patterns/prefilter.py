"""Find out quickly whether new text of a log may show a failure.

Nearly all text shows none, and to match all patterns would take ten times as long. First the literals of the
failures are searched for, in the text without its repetitions, then their expressions are tried there.

The literals of each shipped expression are in a file that `dev/share_files.py` writes, those of failures that
are reported while a job runs apart from the others.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import clean_lines, searched_text
from jobmon_core.system.files import shipped_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ahocorasick_rs import BytesAhoCorasick

FILE_NAME = "error_literals.json"
REPORTED_EARLY, OTHERS = "reported_early", "others"  # see `Pattern.is_reported_early`
_IGNORES_CASE = re.compile(r"\(\?[A-Za-z]*i")
_TRACEBACK = b"traceback (most recent call last)"
_DIGITS = b"0123456789"
# characters in which lines that look the same differ, e.g. the states of a progress bar
_NOT_IN_SHAPE = bytes({*b" \t.,#=>-+|", *range(0x80, 0x100)})
_LONG = 4096  # bytes; in a shorter text, one search per literal is faster


def ignores_case(regex: str) -> bool:
    """Whether ``regex`` or a part of it ignores case; then its literals are in lower case."""
    return _IGNORES_CASE.search(regex) is not None


def literals_of(regex: str) -> Sequence[str]:
    """Return texts of which each line that a shipped ``regex`` matches contains one."""
    return next((part[regex] for part in _shipped_literals().values() if regex in part), ())


@cache
def _shipped_literals() -> Mapping[str, Mapping[str, list[str]]]:
    """Return the literals by part and expression; none if the file cannot be read."""
    try:
        literals: dict[str, dict[str, list[str]]] = json.loads(shipped_file(FILE_NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return literals


def may_show_failure(data: bytes, own: Sequence[str] = ()) -> bool:
    """Whether a traceback begins, or a line matches ``own`` or the expression of a failure reported early.

    Patterns that would show that such a line is harmless are not tried.
    """
    text = _without_repetitions(data)
    if _TRACEBACK in text:
        return True
    suspected = _suspected(text)
    if not suspected and not own:
        return False
    from jobmon_core.observe.patterns.re2_regex import compile_matcher, to_bytes  # rarely needed

    lines = [to_bytes(line) for line in dict.fromkeys(map(searched_text, clean_lines(data)))]
    lower = [line.lower() for line in lines]
    for regex in suspected:
        matches = compile_matcher(regex)
        needed = [literal.lower().encode() for literal in literals_of(regex)]
        for line, text in zip(lines, lower, strict=True):
            if any(map(text.__contains__, needed)) and matches(line):
                return True
    return bool(own) and any(map(compile_matcher(*own), lines))


def _suspected(text: bytes) -> set[str]:
    """Return the shipped expressions that may match a line of a text that is `_reduced`."""
    expressions = _expressions_by_literal()
    if len(text) < _LONG:
        found = [regexes for literal, regexes in expressions.items() if literal in text]
    else:
        by_index = list(expressions.values())
        hits = _finder().find_matches_as_indexes(text, overlapping=True)
        found = [by_index[index] for index in {index for index, _, _ in hits}]
    return set[str]().union(*found)


@cache
def _expressions_by_literal() -> Mapping[bytes, list[str]]:
    found: dict[bytes, list[str]] = {}
    for regex, literals in _shipped_literals().get(REPORTED_EARLY, {}).items():
        for literal in literals:
            found.setdefault(_reduced(literal.encode()), []).append(regex)
    return found


@cache
def _finder() -> BytesAhoCorasick:
    from ahocorasick_rs import BytesAhoCorasick

    return BytesAhoCorasick(list(_expressions_by_literal()))


def _without_repetitions(data: bytes) -> bytes:
    """Return the text in lower case without digits; of lines that look the same, only one."""
    text = _reduced(data).replace(b"\r", b"\n")
    lines = dict(zip(text.translate(None, _NOT_IN_SHAPE).split(b"\n"), text.split(b"\n"), strict=True))
    return b"\n".join(lines.values())


def _reduced(data: bytes) -> bytes:
    return data.lower().translate(None, _DIGITS)
