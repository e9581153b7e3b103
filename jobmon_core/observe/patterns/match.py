"""Find the patterns that match the lines of a log, in time linear in its length.

One Aho-Corasick search (in Rust) finds the literals that the expressions require; an expression is compiled
and tried only on lines with one of its literals, or on all lines if it requires none.
"""

from __future__ import annotations

from itertools import compress, count, islice
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.patterns import Match, Pattern
from jobmon_core.observe.patterns.prefilter import ignores_case, literals_of
from jobmon_core.observe.patterns.re2_regex import compile_matcher, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines

_ANY_LINE = "\n"  # for a user's expression, whose literals are not known
_MAX_LITERAL = 24  # characters


class Matcher:
    """Matches patterns against lines. The rank label of a line is ignored."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        """Prepare ``patterns``, which must be valid."""
        from ahocorasick_rs import BytesAhoCorasick

        self._alternatives = [(pattern, regex) for pattern in patterns for regex in pattern.regex]
        self._compiled: dict[str, Callable[[bytes], object]] = {}
        exact: dict[bytes, list[int]] = {}
        caseless: dict[bytes, list[int]] = {}
        for index, (_, regex) in enumerate(self._alternatives):
            by_literal = caseless if ignores_case(regex) else exact
            # the start of a long literal is distinctive enough, and the index is built faster
            for literal in {each[:_MAX_LITERAL].encode() for each in literals_of(regex) or _ANY_LINE}:
                by_literal.setdefault(literal, []).append(index)
        for literal in exact:
            exact[literal] += caseless.get(literal.lower(), ())
        literals = tuple(dict.fromkeys(literal.lower() for literal in (*exact, *caseless)))
        self._exact = exact
        self._caseless = [caseless.get(literal, []) for literal in literals]
        self._finder = BytesAhoCorasick(literals)

    def find_matches(self, lines: LogLines, limit: int | None = 1) -> tuple[Match, ...]:
        """Return for each matching line, in their order, the first patterns that match it; None: all."""
        texts = tuple(dict.fromkeys(lines.unprefixed))  # many ranks print the same line: try it once
        matching: dict[str, dict[str, Pattern]] = {}
        for number, line, candidates in self._candidates(to_bytes("\n".join((*texts, "")))):
            tried = (self._alternatives[index] for index in sorted(candidates))
            patterns = (pattern for pattern, regex in tried if self._matches(regex, line))
            # by id, because several alternatives of one pattern may match
            matching[texts[number]] = {pattern.id: pattern for pattern in islice(patterns, limit)}
        positions = compress(count(), map(matching.__contains__, lines.unprefixed))
        return tuple(
            [Match(pattern, n) for n in positions for pattern in matching[lines.unprefixed[n]].values()]
        )

    def _matches(self, regex: str, line: bytes) -> object:
        if regex not in self._compiled:
            self._compiled[regex] = compile_matcher(regex)
        return self._compiled[regex](line)

    def _candidates(self, data: bytes) -> list[tuple[int, bytes, set[int]]]:
        """Return, in order, the number and the text of each line to try, and the alternatives to try on it.

        One search ignores case for all literals, faster than two; then the case of each hit is compared.
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
