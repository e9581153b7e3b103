r"""Find the literal texts that a regular expression requires, so that a fast search can rule out most lines.

Every match of ``(?:CUDA|HIP) error: \d+`` contains ``CUDA error: `` or ``HIP error: ``. An expression with
syntax that is not supported here requires nothing. The method is that of RE2's own prefilter
(``re2/prefilter.h``). The Python package has it too, as ``re2.Filter``, but was measured three to four times
slower than a search for these literals.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_CHOICES = 24  # literals in one set; a part of an expression with more counts as unknown text
_MAX_SETS = 3
_MIN_LENGTH = 2  # a single character occurs in every line
# words of healthy logs: any other required literal is more distinctive
_COMMON = frozenset({
    "checkpoint", "complete", "completed", "config", "debug", "error", "errors", "exception", "exceptions",
    "fail", "failed", "failure", "fatal", "file", "inf", "info", "init", "line", "loading", "loss",
    "missing", "note", "rank", "see", "server", "step", "train", "training", "try", "warn", "warning",
})  # fmt: skip
_ZERO_WIDTH = "bB"
_QUANTIFIERS = frozenset("?*+{")
_CLASSES = "dDwWsSpPCX"
_CONTROL = {"t": "\t"}
# the most frequent parts of expressions: literal characters (not the last before a quantifier), repeated
# wildcards, and zero-width assertions
_TOKEN = re.compile(
    r"(?P<literal>[A-Za-z0-9_ ,:;=/'\"<>@#%&~`!-]+(?![?*+{]))"
    r"|(?P<wildcard>(?:\\[dDwWsS]|\.)(?:[?*+]|\{\d+(?:,\d*)?\})?\??)"
    r"|(?P<assertion>(?:\\[bB]|[\^$])(?![?*+{]))"
)
_IGNORES_CASE = re.compile(r"\(\?[A-Za-z]*i")

Literals = frozenset[str]


class _Part(NamedTuple):
    """What a part of an expression matches."""

    exact: Literals | None  # every text that it matches; None if these are not a short list
    required: tuple[Literals, ...] = ()  # each match contains at least one literal of each set
    # for a repeated part: each match starts with one of these texts and ends with one
    ends: Literals | None = None

    def requirements(self) -> tuple[Literals, ...]:
        """Return the sets of literals of which each match contains at least one."""
        return (self.exact,) if self.exact and "" not in self.exact else self.required


_EMPTY = _Part(frozenset({""}))
_UNKNOWN = _Part(None)


class _UnsupportedSyntax(Exception):
    """The expression uses syntax that this module does not parse."""


def needed_literals(regex: str) -> tuple[Literals, ...]:
    """Return sets of ASCII literals: each match of ``regex`` contains at least one literal of each set.

    If ``regex`` ignores case, the literals are in lower case and must be searched in the line in lower case.
    The most distinctive set comes first; there is none if nothing is certain.

    Args:
        regex: an expression that RE2 accepts.
    """
    try:
        part = _Parser(regex).parse()
    except (_UnsupportedSyntax, RecursionError):  # RE2 accepts a thousand nested groups
        return ()
    long_enough = [literals for literals in part.requirements() if min(map(len, literals)) >= _MIN_LENGTH]
    best = sorted(dict.fromkeys(long_enough), key=_distinctiveness, reverse=True)[:_MAX_SETS]
    return tuple(map(_without_redundant, best))


def ignores_case(regex: str) -> bool:
    """Return whether ``regex`` or a part of it ignores case."""
    return _IGNORES_CASE.search(regex) is not None


def _without_redundant(literals: Literals) -> Literals:
    """Drop literals that contain a shorter one of the set."""
    if len(set(map(len, literals))) == 1:
        return literals
    shortest: list[str] = []
    for literal in sorted(literals, key=len):
        if not any(shorter in literal for shorter in shortest):
            shortest.append(literal)
    return frozenset(shortest)


def _distinctiveness(literals: Literals) -> tuple[bool, int, int]:
    """Rank rare words before common ones, then longer literals, then fewer."""
    length = min(map(len, literals))
    words = (literal.strip(" :'\"").lower() for literal in literals)
    return length > _MIN_LENGTH and _COMMON.isdisjoint(words), length, -len(literals)


def _alternation(parts: list[_Part]) -> _Part:
    exact_sets = [part.exact for part in parts if part.exact is not None]
    if len(exact_sets) == len(parts):
        exact = frozenset[str]().union(*exact_sets)
        if len(exact) <= _MAX_CHOICES:
            return _Part(exact)
    required: Literals = frozenset()
    for part in parts:
        best = max(part.requirements(), key=_distinctiveness, default=None)
        if best is None:
            return _UNKNOWN
        required |= best
    return _Part(None, (required,))


def _concatenation(parts: list[_Part]) -> _Part:
    run = [""]  # the texts that the exact parts since the last unknown text match together
    required: list[Literals] = []
    is_exact = True
    for part in parts:
        if part is _EMPTY:
            continue
        adjacent = part.ends if part.exact is None else part.exact
        if adjacent and len(run) * len(adjacent) <= _MAX_CHOICES:
            run = [before + after for before in run for after in adjacent]
            if part.exact:
                continue
        required += _Part(frozenset(run)).requirements()
        required += part.required if part.exact is None else ()
        run = list(adjacent or ("",))
        is_exact = False
    last = _Part(frozenset(run))
    return last if is_exact else _Part(None, (*required, *last.requirements()))


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

    def _is_next(self, text: str) -> bool:
        return self._regex.startswith(text, self._position)

    def _skip(self, text: str) -> bool:
        is_next = self._is_next(text)
        self._position += len(text) if is_next else 0
        return is_next

    def _skip_past(self, end: str) -> None:
        while self._take() != end:
            pass

    def _alternatives(self) -> _Part:
        branches = [self._branch()]
        while self._skip("|"):
            branches.append(self._branch())
        return branches[0] if len(branches) == 1 else _alternation(branches)

    def _branch(self) -> _Part:
        parts = []
        while self._position < len(self._regex) and self._regex[self._position] not in "|)":
            token = _TOKEN.match(self._regex, self._position)
            if token is None:
                parts.append(self._quantified(self._atom()))
                continue
            self._position = token.end()
            if token.lastgroup == "literal":
                parts.append(self._literal(token[0]))
            elif token.lastgroup == "wildcard":
                parts.append(_UNKNOWN)
        return _concatenation(parts)

    def _atom(self) -> _Part:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character in "^$":
            return _EMPTY
        return _UNKNOWN if character == "." else self._literal(character)

    def _group(self) -> _Part:
        if self._skip("?P<"):
            self._skip_past(">")
        elif self._skip("?"):
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
        if character in _ZERO_WIDTH:
            return _EMPTY
        if character in _CLASSES:
            if character in "pP" and self._take() == "{":
                self._skip_past("}")
            return _UNKNOWN
        if character.isalnum() and character not in _CONTROL:
            raise _UnsupportedSyntax  # \x41, \Q and others
        return self._literal(_CONTROL.get(character, character))

    def _class(self) -> _Part:
        """Parse a character class. A class of two or three characters, such as ``[Ee]``, is a short list."""
        is_unknown = self._skip("^")
        members: list[str] = []
        first = True
        while first or not self._is_next("]"):
            first = False
            character = self._take()
            if character == "[":
                if self._is_next(":"):
                    raise _UnsupportedSyntax
            elif character == "\\":
                character = self._take()
                is_unknown |= character.isalnum()  # a class within the class
            elif character == "-" and members and not self._is_next("]"):
                is_unknown = True  # a range
            members.append(character)
        self._take()
        return _UNKNOWN if is_unknown else _alternation([self._literal(member) for member in members])

    def _quantified(self, part: _Part) -> _Part:
        """Parse the quantifier after a part, if there is one."""
        if self._regex[self._position : self._position + 1] not in _QUANTIFIERS:
            return part
        if self._skip("?"):
            result = _UNKNOWN if part.exact is None else _Part(part.exact | {""})
        elif self._skip("*"):
            result = _UNKNOWN
        elif self._skip("+"):
            result = _Part(None, part.requirements(), part.exact)
        else:
            result = self._counted(part)
        self._skip("?")  # a lazy quantifier matches the same texts
        return result

    def _counted(self, part: _Part) -> _Part:
        bounds, closed, rest = self._regex[self._position + 1 :].partition("}")
        least, _, most = bounds.partition(",")
        if not closed or not least or not f"{least}{most}".isdecimal() or not bounds.isascii():
            self._position += 1
            return _concatenation([part, self._literal("{")])  # not a quantifier but a literal brace
        self._position = len(self._regex) - len(rest)
        return _UNKNOWN if int(least) == 0 else _Part(None, part.requirements())

    def _literal(self, text: str) -> _Part:
        if not text.isascii():
            return _UNKNOWN
        return _Part(frozenset({text.lower() if self._ignores_case else text}))
