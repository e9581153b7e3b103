"""Find the patterns that match the lines of a log, in time linear in its length.

There are about a thousand expressions, and most lines match none. A single Aho-Corasick search (in Rust)
finds the literal texts that the expressions require. An expression is compiled and tried only on lines that
contain one of its literals.
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

_ANY_LINE = frozenset({"\n"})  # for an expression that requires no literal: every line has an end
_MAX_LITERAL = 24  # characters
_MAX_CHOICES = 3  # literals that are searched in a line before the expression is tried on it


class _Alternative:
    """One expression of a pattern, compiled on first use."""

    def __init__(self, pattern: Pattern, regex: str) -> None:
        self.pattern = pattern
        self._regex = regex
        self.ignores_case = ignores_case(regex)
        first, *self._other_literals = needed_literals(regex) or (_ANY_LINE,)
        # the start of a long literal is distinctive enough, and the index is built faster
        self.literals = {literal[:_MAX_LITERAL].encode() for literal in first}

    @cached_property
    def matches(self) -> Callable[[str, bytes], object]:
        """A function that returns whether a line, given as text and in UTF-8, matches."""
        expression = RegexTest(self._regex).matches
        required = [tuple(literals) for literals in self._other_literals if len(literals) <= _MAX_CHOICES]
        ignores_case = self.ignores_case

        def has_literals_and_matches(text: str, line: bytes) -> object:
            searched = text.lower() if ignores_case else text
            for literals in required:  # loops, because any() with a generator is slower than the expression
                for literal in literals:
                    if literal in searched:
                        break
                else:
                    return False
            return expression(line)

        return has_literals_and_matches if required else lambda _text, line: expression(line)


class _Index:
    """The literals of all alternatives, to find the alternatives to try on each line."""

    def __init__(self, alternatives: Sequence[_Alternative]) -> None:
        from ahocorasick_rs import BytesAhoCorasick

        exact: dict[bytes, list[int]] = {}
        caseless: dict[bytes, list[int]] = {}
        for index, alternative in enumerate(alternatives):
            by_literal = caseless if alternative.ignores_case else exact
            for literal in alternative.literals:
                by_literal.setdefault(literal, []).append(index)
        for literal in exact:
            exact[literal] += caseless.get(literal.lower(), ())
        literals = tuple(dict.fromkeys(literal.lower() for literal in (*exact, *caseless)))
        self._exact = exact
        self._caseless = [caseless.get(literal, []) for literal in literals]
        self._finder = BytesAhoCorasick(literals)

    def candidates(self, data: bytes) -> list[tuple[int, bytes, set[int]]]:
        """Return, in order, the number and the text of each line to try, and the alternatives to try on it.

        Every line of ``data`` must end with a line end. One search ignores case for all literals, which is
        faster than two searches; then the case of each hit is compared.
        """
        exact, caseless = self._exact, self._caseless
        candidates = []
        number, start, end = 0, 0, -1
        alternatives: set[int] = set()
        for literal, hit, hit_end in self._finder.find_matches_as_indexes(data.lower(), overlapping=True):
            indexes = exact.get(data[hit:hit_end]) or caseless[literal]
            if not indexes:
                continue  # the case differs
            if hit > end:  # hits are in the order of the lines: this is the first one in another line
                number += data.count(b"\n", start, hit)
                start = data.rfind(b"\n", 0, hit) + 1
                end = data.index(b"\n", hit)
                alternatives = set(indexes)
                candidates.append((number, data[start:end], alternatives))
            else:
                alternatives.update(indexes)
        return candidates


class Matcher:
    """Matches patterns against lines. The rank label of a line is ignored."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Prepare ``patterns``, which must be valid."""
        self._alternatives = [_Alternative(pattern, regex) for pattern in patterns for regex in pattern.regex]
        self._index = _Index(self._alternatives)

    def find_matches(self, lines: LogLines) -> tuple[Match, ...]:
        """Return for each line the first pattern that matches it, in the order of the patterns."""
        texts = tuple(dict.fromkeys(lines.unprefixed))  # many ranks print the same line: try it once
        first: dict[str, Pattern] = {}
        for number, line, candidates in self._candidates(texts):
            text = texts[number]
            for index in sorted(candidates):
                alternative = self._alternatives[index]
                if alternative.matches(text, line):
                    first[text] = alternative.pattern
                    break
        positions = compress(count(), map(first.__contains__, lines.unprefixed))
        return tuple([Match(first[lines.unprefixed[position]], position) for position in positions])

    def every_match(self, lines: LogLines) -> tuple[Match, ...]:
        """Return for each line all patterns that match it, in their order."""
        texts = tuple(dict.fromkeys(lines.unprefixed))
        matching: dict[str, tuple[Pattern, ...]] = {}
        for number, line, candidates in self._candidates(texts):
            text = texts[number]
            tried = [self._alternatives[index] for index in sorted(candidates)]
            patterns = [alternative.pattern for alternative in tried if alternative.matches(text, line)]
            matching[text] = tuple(dict.fromkeys(patterns))
        by_position = enumerate(map(matching.get, lines.unprefixed))
        return tuple([Match(pattern, position) for position, found in by_position for pattern in found or ()])

    def _candidates(self, texts: Iterable[str]) -> list[tuple[int, bytes, set[int]]]:
        return self._index.candidates(to_bytes("\n".join((*texts, ""))))
