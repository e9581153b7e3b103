"""Which known failures the lines of a log show. Linear in the length of the log, whatever the rules.

There are some thousand expressions, and most lines match none. So the log is searched once, for all the
plain texts that the expressions need (Aho-Corasick, in Rust); an expression is tried, and compiled, only
where one of its texts stands.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from jobmon_core.domain.rules import Finding, Rule
from jobmon_core.observe.literals import needed_literals
from jobmon_core.observe.regex import Test, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.domain.loglines import LogLines

_FEW = 3  # texts that are looked for in a line before an expression is tried on it


class _Alternative:
    """One expression of a rule, compiled when it is tried for the first time."""

    def __init__(self, rule: Rule, regex: str) -> None:
        self.rule = rule
        self.regex = regex
        first, *others = needed_literals(regex) or (frozenset[str](),)
        self.literals = first  # by which lines to try are found; empty: every line is to be tried
        few = [texts for texts in others if len(texts) <= _FEW]
        self._others = tuple(tuple(text.encode() for text in texts) for texts in few)

    @cached_property
    def _test(self) -> Test:
        return Test(self.regex)

    def matches(self, line: bytes, lowered: bytes) -> bool:
        """Tell whether it matches a line, which is given in lower case too."""
        for texts in self._others:  # quicker than the expression
            if not any(text in lowered for text in texts):
                return False
        return self._test.matches(line)


class Matcher:
    """The rules. Lines are matched without the label of their rank."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        """Prepare ``rules``, which were validated before."""
        from ahocorasick_rs import BytesAhoCorasick

        self._alternatives = [_Alternative(rule, regex) for rule in rules for regex in rule.regex]
        by_literal: dict[str, list[int]] = {}
        for index, alternative in enumerate(self._alternatives):
            for literal in alternative.literals:
                by_literal.setdefault(literal, []).append(index)
        self._everywhere = [i for i, alternative in enumerate(self._alternatives) if not alternative.literals]
        self._wanting = list(by_literal.values())
        self._finder = BytesAhoCorasick([literal.encode() for literal in by_literal])

    def findings(self, lines: LogLines) -> tuple[Finding, ...]:
        """Return the rule that each line belongs to: the first in their order that matches it."""
        return tuple(
            Finding(rule, number)
            for number, rules in self._matches(lines)
            if (rule := next(rules, None)) is not None
        )

    def every_match(self, lines: LogLines) -> tuple[Finding, ...]:
        """Return all rules that match each line, in their order."""
        return tuple(
            Finding(rule, number) for number, rules in self._matches(lines) for rule in dict.fromkeys(rules)
        )

    def _matches(self, lines: LogLines) -> Iterator[tuple[int, Iterator[Rule]]]:
        """Yield the number of each line to try, and the rules that match it, tried one by one."""
        whole = to_bytes("\n".join(lines.bare))
        lowered = whole.lower()
        texts, lowered_texts = whole.split(b"\n"), lowered.split(b"\n")
        for number, candidates in self._candidates(lowered, len(texts)):
            yield number, self._matching(texts[number], lowered_texts[number], candidates)

    def _matching(self, line: bytes, lowered: bytes, candidates: Iterable[int]) -> Iterator[Rule]:
        for index in sorted(candidates):
            alternative = self._alternatives[index]
            if alternative.matches(line, lowered):
                yield alternative.rule

    def _candidates(self, lowered: bytes, count: int) -> Iterable[tuple[int, Iterable[int]]]:
        """Return the lines to try, in order, and for each of them the alternatives."""
        found: dict[int, set[int]] = {}
        if self._everywhere:
            found = {number: set(self._everywhere) for number in range(count)}
        number = end = 0
        for literal, _, stop in self._finder.find_matches_as_indexes(lowered, overlapping=True):
            number += lowered.count(b"\n", end, stop)  # they come in the order of their ends
            end = stop
            if number in found:
                found[number].update(self._wanting[literal])
            else:
                found[number] = set(self._wanting[literal])
        return found.items()
