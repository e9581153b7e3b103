"""Which known failures the lines of a log show. Linear in the length of the log, whatever the rules.

There are some thousand expressions, and most lines match none. So the log is searched once, for all the
plain texts that the expressions need (Aho-Corasick, in Rust); an expression is tried, and compiled, only
where one of its texts stands.
"""

from __future__ import annotations

from functools import cached_property
from itertools import compress, count
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.patterns import Match, Pattern
from jobmon_core.observe.patterns.prefilter import ignores_case, needed_literals
from jobmon_core.observe.patterns.re2_regex import RegexTest, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.domain.diagnosis.log_lines import LogLines

_EVERY_LINE = frozenset({"\n"})  # where nothing tells which lines an expression may match: all have an end
_LONGEST = 24
_FEW = 3  # texts that are looked for in a line before an expression is tried on it


class _Alternative:
    """One expression of a rule, compiled when it is tried for the first time."""

    def __init__(self, rule: Pattern, regex: str) -> None:
        self.rule = rule
        self._regex = regex
        self.ignores_case = ignores_case(regex)
        first, *self._needed = needed_literals(regex) or (_EVERY_LINE,)
        # by which the lines to try are found; their beginnings are telling enough, and sooner built in
        self.literals = {text[:_LONGEST].encode() for text in first}

    @cached_property
    def matches(self) -> Callable[[str, bytes], object]:
        """What tells, as true or false, whether a line matches that is given as text and in UTF-8."""
        expression = RegexTest(self._regex).matches
        others = [tuple(texts) for texts in self._needed if len(texts) <= _FEW]
        ignores_case = self.ignores_case

        def holds_them_and_matches(text: str, line: bytes) -> object:
            searched = text.lower() if ignores_case else text
            for texts in others:  # quicker than the expression
                for each in texts:
                    if each in searched:
                        break
                else:
                    return False
            return expression(line)

        return holds_them_and_matches if others else lambda _text, line: expression(line)


class _Index:
    """Which alternatives are to be tried on which lines: those of which a literal stands there."""

    def __init__(self, alternatives: Sequence[_Alternative]) -> None:
        from ahocorasick_rs import BytesAhoCorasick

        as_it_stands: dict[bytes, list[int]] = {}
        in_any_case: dict[bytes, list[int]] = {}
        for index, alternative in enumerate(alternatives):
            by_literal = in_any_case if alternative.ignores_case else as_it_stands
            for literal in alternative.literals:
                by_literal.setdefault(literal, []).append(index)
        for literal in as_it_stands:
            as_it_stands[literal] += in_any_case.get(literal.lower(), ())
        sought = tuple(dict.fromkeys(literal.lower() for literal in (*as_it_stands, *in_any_case)))
        self._as_it_stands = as_it_stands
        self._in_any_case = [in_any_case.get(literal, []) for literal in sought]
        self._finder = BytesAhoCorasick(sought)

    def candidates(self, whole: bytes) -> list[tuple[int, bytes, set[int]]]:
        """Return, in order, the number and the text of each line to try, and the alternatives to try on it.

        All lines of ``whole`` have an end. All cases are searched at once, which is quicker than twice; then
        a literal is looked at as it stands.
        """
        as_it_stands, in_any_case = self._as_it_stands, self._in_any_case
        candidates = []
        number, start, end = 0, 0, -1
        found: set[int] = set()
        for literal, begin, stop in self._finder.find_matches_as_indexes(whole.lower(), overlapping=True):
            wanting = as_it_stands.get(whole[begin:stop]) or in_any_case[literal]
            if not wanting:
                continue  # upper case where lower is asked for, or the other way round
            if begin > end:  # they come in the order of the lines, and here begins another one
                number += whole.count(b"\n", start, begin)
                start = whole.rfind(b"\n", 0, begin) + 1
                end = whole.index(b"\n", begin)
                found = set(wanting)
                candidates.append((number, whole[start:end], found))
            else:
                found.update(wanting)
        return candidates


class Matcher:
    """The rules. Lines are matched without the label of their rank."""

    def __init__(self, rules: Sequence[Pattern]) -> None:
        """Prepare ``rules``, which were validated before."""
        self._alternatives = [_Alternative(rule, regex) for rule in rules for regex in rule.regex]
        self._index = _Index(self._alternatives)

    def find_matches(self, lines: LogLines) -> tuple[Match, ...]:
        """Return the rule that each line belongs to: the first in their order that matches it."""
        texts = tuple(
            dict.fromkeys(lines.unprefixed)
        )  # lines repeat, on every rank for one: each is tried once
        alternatives = self._alternatives
        first: dict[str, Pattern] = {}
        for number, line, candidates in self._candidates(texts):
            text = texts[number]
            for index in sorted(candidates):
                alternative = alternatives[index]
                if alternative.matches(text, line):
                    first[text] = alternative.rule
                    break
        matched = compress(count(), map(first.__contains__, lines.unprefixed))
        return tuple([Match(first[lines.unprefixed[number]], number) for number in matched])

    def every_match(self, lines: LogLines) -> tuple[Match, ...]:
        """Return all rules that match each line, in their order."""
        texts = tuple(dict.fromkeys(lines.unprefixed))
        every: dict[str, tuple[Pattern, ...]] = {}
        for number, line, candidates in self._candidates(texts):
            text = texts[number]
            tried = [self._alternatives[index] for index in sorted(candidates)]
            every[text] = tuple(dict.fromkeys(each.rule for each in tried if each.matches(text, line)))
        found = enumerate(map(every.get, lines.unprefixed))
        return tuple([Match(rule, number) for number, rules in found for rule in rules or ()])

    def _candidates(self, texts: Iterable[str]) -> list[tuple[int, bytes, set[int]]]:
        return self._index.candidates(to_bytes("\n".join((*texts, ""))))
