r"""Which plain texts an expression needs, so that a quick search for them tells where it can match at all.

Of ``(?:CUDA|HIP) error: \d+`` every match holds ``cuda error: `` or ``hip error: ``, whatever its case. The
reading is conservative: where the syntax is not understood, nothing is promised. After the prefilter of RE2
(``re2/prefilter.h``), which its Python package does not show.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MOST = 24  # texts that a part may be, for it to count as a list of texts
_MOST_SETS = 3
_LEAST_CHARACTERS = 2  # a single one stands in every line
# words of healthy logs: whatever else an expression needs tells more
_COMMON = frozenset({
    "checkpoint", "complete", "completed", "config", "debug", "error", "errors", "exception", "exceptions",
    "fail", "failed", "failure", "fatal", "file", "inf", "info", "init", "line", "loading", "loss",
    "missing", "note", "rank", "see", "server", "step", "train", "training", "try", "warn", "warning",
})  # fmt: skip
_ZERO_WIDTH = "bB"
_COUNTS = frozenset("?*+{")
_CLASSES = "dDwWsSpPCX"
_CONTROL = {"t": "\t"}
# what expressions mostly consist of, read at once: characters that mean themselves, but for the one that a
# count may follow; what may be anything, however often; and what stands for no character
_TOKEN = re.compile(
    r"(?P<text>[A-Za-z0-9_ ,:;=/'\"<>@#%&~`!-]+(?![?*+{]))"
    r"|(?P<anything>(?:\\[dDwWsS]|\.)(?:[?*+]|\{\d+(?:,\d*)?\})?\??)"
    r"|(?P<nothing>(?:\\[bB]|[\^$])(?![?*+{]))"
)
_IGNORES_CASE = re.compile(r"\(\?[A-Za-z]*i")


Texts = frozenset[str]


class _Part(NamedTuple):
    """What a part of an expression matches."""

    exact: Texts | None  # all that it matches; None where that is not a short list
    needed: tuple[Texts, ...] = ()  # of each of these, each match holds at least one text
    ends: Texts | None = None  # of a part that may be repeated: with one of them it begins, with one it ends

    def promises(self) -> tuple[Texts, ...]:
        """Return what each match holds, by the texts that it may be or by those that it needs."""
        return (self.exact,) if self.exact and "" not in self.exact else self.needed


_NOTHING = _Part(frozenset({""}))
_ANYTHING = _Part(None)


class _NotUnderstood(Exception):
    """The expression uses syntax that is not read here."""


def needed_literals(regex: str) -> tuple[Texts, ...]:
    """Return sets of texts: each match of ``regex`` holds at least one text of each set.

    Where the case of a part does not matter, all texts are in lower case and so is the match to be. What
    tells most comes first; empty where nothing is sure. ASCII only, each text of two characters at least.
    ``regex`` is one that RE2 accepts.
    """
    try:
        part = _Reader(regex).read()
    except (_NotUnderstood, RecursionError):  # RE2 takes groups a thousand deep
        return ()
    sure = [texts for texts in part.promises() if min(map(len, texts)) >= _LEAST_CHARACTERS]
    best = sorted(dict.fromkeys(sure), key=_telling, reverse=True)[:_MOST_SETS]
    return tuple(map(_without_longer, best))


def ignores_case(regex: str) -> bool:
    """Tell whether ``regex``, or a part of it, matches its texts in any case."""
    return _IGNORES_CASE.search(regex) is not None


def _without_longer(texts: Texts) -> Texts:
    """Drop the texts that hold another one, which says all."""
    if len(set(map(len, texts))) == 1:
        return texts
    kept: list[str] = []
    for text in sorted(texts, key=len):
        for shorter in kept:
            if shorter in text:
                break
        else:
            kept.append(text)
    return frozenset(kept)


def _telling(texts: Texts) -> tuple[bool, int, int]:
    """Rank rare words before common ones, longer texts before shorter ones, few before many."""
    shortest = min(map(len, texts))
    rare = shortest > _LEAST_CHARACTERS and _COMMON.isdisjoint(text.strip(" :'\"").lower() for text in texts)
    return rare, shortest, -len(texts)


def _either(parts: list[_Part]) -> _Part:
    lists = [part.exact for part in parts if part.exact is not None]
    if len(lists) == len(parts):
        exact = frozenset[str]().union(*lists)
        if len(exact) <= _MOST:
            return _Part(exact)
    needed: Texts = frozenset()
    for part in parts:
        best = max(part.promises(), key=_telling, default=None)
        if best is None:
            return _ANYTHING
        needed |= best
    return _Part(None, (needed,))


def _in_a_row(parts: list[_Part]) -> _Part:
    run = [""]  # what the exact parts since the last gap match together
    needed: list[Texts] = []
    whole = True
    for part in parts:
        if part is _NOTHING:
            continue
        next_to_it = part.ends if part.exact is None else part.exact
        if next_to_it and len(run) * len(next_to_it) <= _MOST:
            run = [a + b for a in run for b in next_to_it]
            if part.exact:
                continue
        needed += _Part(frozenset(run)).promises()
        needed += part.needed if part.exact is None else ()
        run = list(next_to_it or ("",))
        whole = False
    last = _Part(frozenset(run))
    return last if whole else _Part(None, (*needed, *last.promises()))


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0
        self._ignores_case = ignores_case(regex)

    def read(self) -> _Part:
        part = self._alternatives()
        if self._at < len(self._regex):
            raise _NotUnderstood
        return part

    def _take(self) -> str:
        if self._at >= len(self._regex):
            raise _NotUnderstood
        self._at += 1
        return self._regex[self._at - 1]

    def _is_next(self, text: str) -> bool:
        return self._regex.startswith(text, self._at)

    def _skip(self, text: str) -> bool:
        found = self._is_next(text)
        self._at += len(text) if found else 0
        return found

    def _alternatives(self) -> _Part:
        branches = [self._row()]
        while self._skip("|"):
            branches.append(self._row())
        return branches[0] if len(branches) == 1 else _either(branches)

    def _row(self) -> _Part:
        parts = []
        while self._at < len(self._regex) and self._regex[self._at] not in "|)":
            token = _TOKEN.match(self._regex, self._at)
            if token is None:
                parts.append(self._repeated(self._atom()))
                continue
            self._at = token.end()
            if token.lastgroup == "text":
                parts.append(self._literal(token[0]))
            elif token.lastgroup == "anything":
                parts.append(_ANYTHING)
        return _in_a_row(parts)

    def _atom(self) -> _Part:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character in "^$":
            return _NOTHING
        return _ANYTHING if character == "." else self._literal(character)

    def _group(self) -> _Part:
        if self._skip("?"):
            if self._skip("P<"):
                while self._take() != ">":
                    pass
            else:
                while (flag := self._take()) not in ":)":
                    if flag not in "imsU":
                        raise _NotUnderstood
                if flag == ")":
                    return _NOTHING
        part = self._alternatives()
        if not self._skip(")"):
            raise _NotUnderstood
        return part

    def _escape(self) -> _Part:
        character = self._take()
        if character in _ZERO_WIDTH:
            return _NOTHING
        if character in _CLASSES:
            if character in "pP" and self._take() == "{":
                while self._take() != "}":
                    pass
            return _ANYTHING
        if character.isalnum() and character not in _CONTROL:
            raise _NotUnderstood  # \x41, \Q and the like
        return self._literal(_CONTROL.get(character, character))

    def _class(self) -> _Part:
        """Read a class of characters; one of two or three, such as ``[Ee]``, is a short list."""
        negated = self._skip("^")
        members: list[str] = []
        first = True
        while first or not self._is_next("]"):
            first = False
            character = self._take()
            if character == "[":
                if self._is_next(":"):
                    raise _NotUnderstood
            elif character == "\\":
                character = self._take()
                negated |= character.isalnum()  # a class within the class: anything
            elif character == "-" and members and not self._is_next("]"):
                negated = True  # a range
            members.append(character)
        self._take()
        return _ANYTHING if negated else _either([self._literal(member) for member in members])

    def _repeated(self, part: _Part) -> _Part:
        """Read what says how often a part stands there."""
        if self._regex[self._at : self._at + 1] not in _COUNTS:
            return part
        if self._skip("?"):
            result = _ANYTHING if part.exact is None else _Part(part.exact | {""})
        elif self._skip("*"):
            result = _ANYTHING
        elif self._skip("+"):
            result = _Part(None, part.promises(), part.exact)
        else:
            result = self._counted(part)
        self._skip("?")  # as few as possible: the same texts
        return result

    def _counted(self, part: _Part) -> _Part:
        count, closed, rest = self._regex[self._at + 1 :].partition("}")
        least, _, most = count.partition(",")
        if not closed or not least or not f"{least}{most}".isdecimal() or not count.isascii():
            self._at += 1
            return _in_a_row([part, self._literal("{")])  # no count but a brace
        self._at = len(self._regex) - len(rest)
        return _ANYTHING if int(least) == 0 else _Part(None, part.promises())

    def _literal(self, text: str) -> _Part:
        if not text.isascii():
            return _ANYTHING
        return _Part(frozenset({text.lower() if self._ignores_case else text}))
