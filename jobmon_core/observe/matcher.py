"""Which known failures the lines of a log show. Linear in the length of the log, whatever the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.rules import Finding
from jobmon_core.observe.regex import Sieve, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.loglines import LogLines
    from jobmon_core.domain.rules import Rule
    from jobmon_core.observe.regex import Regex

_PIECE = 16 * 1024  # bytes
_ONE_LINE = "(?m)"  # ^ and $ are the ends of each line of the whole text


class Matcher:
    """The compiled rules. Lines are matched without the label of their rank."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Compile ``rules``, which were validated before."""
        # each alternative by itself: most are literals, which are found fast and needed by no other
        alternatives = [(rule, _ONE_LINE + regex) for rule in rules for regex in rule.regex]
        self._rules = tuple(rule for rule, _ in alternatives)
        self._sieve = Sieve([regex for _, regex in alternatives])

    def findings(self, lines: LogLines) -> tuple[Finding, ...]:
        """Return the rules that match the lines, for each line in the order of the rules.

        A rule of which several alternatives match a line is returned for each of them.
        """
        found: list[Finding] = []
        first = 0
        for piece in _pieces(to_bytes("\n".join(lines.bare))):
            for index, regex in self._sieve.candidates(piece):
                rule = self._rules[index]
                found += [Finding(rule, first + number) for number in _matching_lines(regex, piece)]
            first += piece.count(b"\n")
        return tuple(found)


def _pieces(whole: bytes) -> Iterator[bytes]:
    """Cut a text at ends of lines: a rule that may match in one piece is not searched for in the others."""
    start = 0
    while start < len(whole):
        end = whole.find(b"\n", start + _PIECE) + 1 or len(whole)
        yield whole[start:end]
        start = end


def _matching_lines(regex: Regex, text: bytes) -> Iterator[int]:
    """Yield the numbers, from 0, of the lines of ``text`` that ``regex`` matches."""
    number = counted = 0
    end = -1  # of the line that was yielded last
    for match in regex.finditer(text):
        first = match.start()
        if first > end:
            number += text.count(b"\n", counted, first)
            counted = first
            yield number
            end = text.find(b"\n", first)
            if end < 0:
                return
