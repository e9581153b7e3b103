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

_ONE_LINE = "(?m)"  # ^ and $ are the ends of each line of the whole text


class Matcher:
    """The compiled rules. Lines are matched without the label of their rank."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Compile ``rules``, which were validated before."""
        self._rules = tuple(rules)
        self._sieve = Sieve([_ONE_LINE + rule.regex for rule in rules])

    def findings(self, lines: LogLines) -> tuple[Finding, ...]:
        """Return the rules that match the lines, for each line in the order of the rules."""
        whole = to_bytes("\n".join(lines.bare))
        found: list[Finding] = []
        for index, regex in self._sieve.candidates(whole):
            rule = self._rules[index]
            found += [Finding(rule, position) for position in _matching_lines(regex, whole)]
        return tuple(found)


def _matching_lines(regex: Regex, whole: bytes) -> Iterator[int]:
    """Yield the numbers, from 0, of the lines of ``whole`` that ``regex`` matches."""
    number = counted = start = 0
    while match := regex.search(whole, start):
        first = match.start()
        number += whole.count(b"\n", counted, first)
        counted = first
        yield number
        start = whole.find(b"\n", first) + 1
        if not start:
            return
