r"""Find the literal texts that a regular expression requires, so that a fast search can rule out most lines.

The method is that of RE2's own prefilter (``re2/prefilter.h``), whose Python form, ``re2.Filter``, was
measured three to four times slower. Literals are found only for expressions whose syntax is parsed here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from jobmon_core.observe.patterns.prefilter import ignores_case

_MAX_EXACT = 24  # texts: of a part that matches more, only literals that it requires are kept
_MIN_LENGTH = 2  # a single character occurs in nearly every line
# words that healthy logs contain too: a set of literals without them is more distinctive
_COMMON = frozenset({
    "checkpoint", "complete", "completed", "config", "debug", "error", "errors", "exception", "exceptions",
    "fail", "failed", "failure", "fatal", "file", "inf", "info", "init", "line", "loading", "loss",
    "missing", "note", "rank", "see", "server", "step", "train", "training", "try", "warn", "warning",
})  # fmt: skip
# literal characters; if a quantifier follows, without the last one, to which it applies
_LITERAL_RUN = re.compile(r"[A-Za-z0-9_ ,:;=/'\"<>@#%&~`!-]+(?![?*+{])")
_CHARACTER_CLASS = re.compile(r"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\\\]])*\]")
_QUANTIFIER = re.compile(r"(?:([?*+])|\{([0-9]+)(?:,[0-9]*)?\})\??")
_ZERO_WIDTH_ESCAPES = "bB"
_CHARACTER_ESCAPES = "dDwWsStC"  # each stands for one character

Literals = frozenset[str]


class _Part(NamedTuple):
    """What a part of an expression matches."""

    exact: Literals | None  # every text that it matches; None if these are too many or not known
    required: Literals = frozenset()  # every match contains at least one of these; empty if none are known
    # of a part with ``+``: the texts of one repetition, so every match starts and ends with one of these
    repeated: Literals | None = None

    def literals(self) -> Literals:
        """Return a set such that every match contains at least one literal of it; empty if none is known."""
        return self.exact if self.exact and "" not in self.exact else self.required


_EMPTY = _Part(frozenset({""}))
_UNKNOWN = _Part(None)


class _UnsupportedSyntax(Exception):
    """The expression uses syntax that this module does not parse."""


def needed_literals(regex: str) -> Literals:
    """Return a set of ASCII literals such that every match of ``regex`` contains at least one of them.

    If ``regex`` ignores case, the literals are in lower case and must be searched in the line in lower case.
    Of several such sets, the most distinctive one is returned. The set is empty if none is known, or if the
    best one has a literal of one character. RE2 must accept ``regex``.
    """
    try:
        literals = _Parser(regex).parse().literals()
    except (_UnsupportedSyntax, RecursionError):  # RE2 accepts a thousand nested groups
        return frozenset()
    return literals if min(map(len, literals), default=0) >= _MIN_LENGTH else frozenset()


def _distinctiveness(literals: Literals) -> tuple[bool, int, int]:
    """Return a sort key: larger for sets without common or very short words, then for longer, then fewer."""
    length = min(map(len, literals), default=0)
    words = (literal.strip(" :'\"").lower() for literal in literals)
    return length > _MIN_LENGTH and _COMMON.isdisjoint(words), length, -len(literals)


def _alternation(parts: list[_Part]) -> _Part:
    """Return the part that matches one of ``parts``."""
    exact_sets = [part.exact for part in parts if part.exact is not None]
    if len(exact_sets) == len(parts):
        exact = frozenset[str]().union(*exact_sets)
        if len(exact) <= _MAX_EXACT:
            return _Part(exact)
    required = [part.literals() for part in parts]
    return _Part(None, frozenset[str]().union(*required)) if all(required) else _UNKNOWN


def _concatenation(parts: list[_Part]) -> _Part:
    """Return the part that matches ``parts`` in sequence; of several sets, require the most distinctive."""
    run = [""]  # the texts that the latest consecutive parts with known texts match together
    required: list[Literals] = []
    is_exact = True
    for part in parts:
        if part is _EMPTY:
            continue
        adjacent = part.repeated if part.exact is None else part.exact
        if adjacent and len(run) * len(adjacent) <= _MAX_EXACT:
            run = [before + after for before in run for after in adjacent]
            if part.exact:
                continue
        required.append(_Part(frozenset(run)).literals())
        if part.exact is None:
            required.append(part.required)
        run = list(adjacent or ("",))
        is_exact = False
    last = _Part(frozenset(run))
    return last if is_exact else _Part(None, max([*required, last.literals()], key=_distinctiveness))


class _Parser:
    """Parses one expression from left to right."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._position = 0
        self._ignores_case = ignores_case(regex)

    def parse(self) -> _Part:
        part = self._alternatives()
        if self._position < len(self._regex):
            raise _UnsupportedSyntax
        return part

    def _take(self) -> str:
        if self._position >= len(self._regex):
            raise _UnsupportedSyntax
        self._position += 1
        return self._regex[self._position - 1]

    def _skip(self, text: str) -> bool:
        is_next = self._regex.startswith(text, self._position)
        self._position += len(text) if is_next else 0
        return is_next

    def _skip_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._regex, self._position)
        self._position = match.end() if match else self._position
        return match

    def _alternatives(self) -> _Part:
        branches = [self._branch()]
        while self._skip("|"):
            branches.append(self._branch())
        return branches[0] if len(branches) == 1 else _alternation(branches)

    def _branch(self) -> _Part:
        parts = []
        while self._position < len(self._regex) and self._regex[self._position] not in "|)":
            run = self._skip_match(_LITERAL_RUN)
            parts.append(self._literal(run[0]) if run else self._quantified(self._atom()))
        return _concatenation(parts)

    def _atom(self) -> _Part:
        character_class = self._skip_match(_CHARACTER_CLASS)
        if character_class:
            return self._any_of(character_class[0][1:-1])
        character = self._take()
        if character == "(":
            return self._group()
        if character == "\\":
            return self._escape()
        if character in "^$":
            return _EMPTY
        return _UNKNOWN if character == "." else self._literal(character)

    def _group(self) -> _Part:
        if self._skip("?"):
            while (flag := self._take()) not in ":)":
                if flag not in "imsU":
                    raise _UnsupportedSyntax
            if flag == ")":
                return _EMPTY
        part = self._alternatives()
        if not self._skip(")"):
            raise _UnsupportedSyntax
        return part

    def _escape(self) -> _Part:
        character = self._take()
        if character in _ZERO_WIDTH_ESCAPES:
            return _EMPTY
        if character in _CHARACTER_ESCAPES:
            return _UNKNOWN
        if character.isalnum():
            raise _UnsupportedSyntax  # \x41, \Q and others
        return self._literal(character)

    def _any_of(self, members: str) -> _Part:
        """Return the part for a character class. Classes such as ``[Ee]`` and ``[r-]`` are short lists."""
        # no complement, range (at the end, a hyphen stands for itself), named class or escape
        is_list = "-" not in members[:-1] and not any(map(members.__contains__, "^[\\"))
        return _alternation([self._literal(member) for member in members]) if is_list else _UNKNOWN

    def _quantified(self, part: _Part) -> _Part:
        quantifier = self._skip_match(_QUANTIFIER)
        if quantifier is None:
            return part
        symbol, least = quantifier.groups()
        if symbol == "?" and part.exact is not None:
            return _Part(part.exact | {""})
        if symbol == "+":
            return _Part(None, part.literals(), part.exact)
        return _Part(None, part.literals()) if least and int(least) > 0 else _UNKNOWN

    def _literal(self, text: str) -> _Part:
        if not text.isascii():
            return _UNKNOWN
        return _Part(frozenset({text.lower() if self._ignores_case else text}))
