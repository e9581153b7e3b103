"""Find out quickly whether new text of a log may show a failure.

Nearly all text shows none, and a monitor searches the logs of its jobs all the time: to load the patterns and
to match all of them would take ten times as long. First the literals of the failures are searched for, in the
text without its repetitions, then their expressions are tried on the lines with these literals.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.log_text import clean_lines, searched_text
from jobmon_core.observe.patterns.literals import literals_of, literals_reported_early

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TRACEBACK = b"traceback (most recent call last)"
_DIGITS = b"0123456789"
_NOT_IN_SHAPE = bytes({*b" \t.,#=>-+|", *range(0x80, 0x100)})  # as of progress bars


def may_show_failure(data: bytes, own: Sequence[str] = ()) -> bool:
    """Return whether a line of ``data`` matches the expression of a failure, or a traceback begins in it.

    ``own`` are the expressions of the user. A pattern that excludes such a line has not been considered.
    """
    text = _without_repetitions(data)
    if _TRACEBACK in text:
        return True
    expressions = {**literals_reported_early(), **{regex: literals_of(regex) for regex in own}}
    owners = [regex for regex, literals in expressions.items() for _ in literals]
    literals = "\n".join(literal for literals in expressions.values() for literal in literals)
    found = map(text.__contains__, _reduced(literals.encode()).split(b"\n"))
    suspected = {*compress(owners, found), *(regex for regex in own if not expressions[regex])}
    return bool(suspected) and any(_matches(data, {regex: expressions[regex] for regex in suspected}))


def _without_repetitions(data: bytes) -> bytes:
    """Return the text in lower case without digits; of lines that look the same, e.g. of a bar, only one."""
    text = _reduced(data).replace(b"\r", b"\n")
    lines = dict(zip(text.translate(None, _NOT_IN_SHAPE).split(b"\n"), text.split(b"\n"), strict=True))
    return b"\n".join(lines.values())


def _reduced(data: bytes) -> bytes:
    return data.lower().translate(None, _DIGITS)


def _matches(data: bytes, suspected: Mapping[str, Iterable[str]]) -> Iterator[bool]:
    """Yield whether a line matches, for each expression and each line with one of its literals."""
    from jobmon_core.observe.patterns.re2_regex import compile_matcher, to_bytes  # rarely needed

    lines = [to_bytes(line) for line in dict.fromkeys(map(searched_text, clean_lines(data)))]
    lower = [line.lower() for line in lines]
    for regex, literals in suspected.items():
        matches = compile_matcher(regex)
        needed = [literal.lower().encode() for literal in literals] or [b""]
        for line, text in zip(lines, lower, strict=True):
            if any(map(text.__contains__, needed)):
                yield bool(matches(line))
