"""Find out quickly whether new text of a log may show a failure.

Nearly all text shows none, and a monitor searches the logs of its jobs all the time: to load the patterns and
to match all of them would take ten times as long. First the literals of the failures are searched for, in the
text without its repetitions, then their expressions are tried on the lines with these literals.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import clean_lines, searched_text
from jobmon_core.observe.patterns.prefilter import literals_of, literals_reported_early

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ahocorasick_rs import BytesAhoCorasick

_TRACEBACK = b"traceback (most recent call last)"
_DIGITS = b"0123456789"
# characters in which lines that look the same differ, e.g. the states of a progress bar
_NOT_IN_SHAPE = bytes({*b" \t.,#=>-+|", *range(0x80, 0x100)})
_LONG = 4096  # bytes; in a shorter text, one search per literal is faster than to prepare one search for all


def may_show_failure(data: bytes, own: Sequence[str] = ()) -> bool:
    """Return whether a line of ``data`` matches the expression of a failure, or a traceback begins in it.

    The expressions are those of the failures that are reported while a job runs, and the user's ``own``.
    Patterns that would show that such a line is harmless are not tried.
    """
    text = _without_repetitions(data)
    if _TRACEBACK in text:
        return True
    expressions = _expressions(tuple(own))
    suspected = {regex: expressions.literals[regex] for regex in expressions.suspected(text)}
    return bool(suspected) and any(_matches(data, suspected))


@lru_cache(maxsize=8)
def _expressions(own: tuple[str, ...]) -> _Expressions:
    return _Expressions({**literals_reported_early(), **{regex: literals_of(regex) for regex in own}})


class _Expressions:
    """Expressions and their literals: a line that an expression matches contains one of its literals."""

    def __init__(self, literals: Mapping[str, Iterable[str]]) -> None:
        self.literals = literals
        pairs = [(regex, literal) for regex, needed in literals.items() for literal in needed or ("",)]
        reduced = _reduced("\n".join(literal for _, literal in pairs).encode()).split(b"\n")
        self._owners: dict[bytes, list[str]] = {}
        for (regex, _), literal in zip(pairs, reduced, strict=True):
            self._owners.setdefault(literal, []).append(regex)
        self._always = self._owners.pop(b"", [])

    def suspected(self, text: bytes) -> set[str]:
        """Return the expressions that may match a line of a text, which is as `_reduced` returns it."""
        if len(text) < _LONG:
            found = [owners for literal, owners in self._owners.items() if literal in text]
        else:
            by_index = list(self._owners.values())
            hits = self._finder.find_matches_as_indexes(text, overlapping=True)
            found = [by_index[index] for index in {index for index, _, _ in hits}]
        return set(self._always).union(*found)

    @cached_property
    def _finder(self) -> BytesAhoCorasick:
        from ahocorasick_rs import BytesAhoCorasick

        return BytesAhoCorasick(list(self._owners))


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
