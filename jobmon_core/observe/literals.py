r"""Which plain texts an expression needs, so that a quick search for them tells where it can match at all.

Of ``(?:CUDA|HIP) error: \d+`` every match holds ``cuda error: `` or ``hip error: ``, whatever its case. The
reading is conservative: where the syntax is not understood, nothing is promised. After the prefilter of RE2
(``re2/prefilter.h``), which its Python package does not show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
_CLASSES = "dDwWsSpPCX"
_CONTROL = {"t": "\t"}
# characters that mean themselves, but for the one that a count may follow
_RUN = re.compile(r"[A-Za-z0-9_ ,:;=/'\"<>@#%&~`!-]+(?![?*+{])")


Texts = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of an expression matches."""

    exact: Texts | None  # all that it matches, in lower case; None where that is not a short list
    needed: tuple[Texts, ...] = ()  # of each of these, each match holds at least one text

    def promises(self) -> tuple[Texts, ...]:
        """Return what each match holds, by the texts that it may be or by those that it needs."""
        return (self.exact,) if self.exact and "" not in self.exact else self.needed


_NOTHING = _Part(frozenset({""}))
_ANYTHING = _Part(None)


class _NotUnderstood(Exception):
    """The expression uses syntax that is not read here."""


def needed_literals(regex: str) -> tuple[Texts, ...]:
    """Return sets of texts in lower case: each match of ``regex`` holds at least one text of each set.

    What tells most comes first; empty where nothing is sure. ASCII only, each text of two characters at
    least. ``regex`` is one that RE2 accepts.
    """
    try:
        part = _Reader(regex).read()
    except _NotUnderstood:
        return ()
    sure = {texts for texts in part.promises() if min(map(len, texts)) >= _LEAST_CHARACTERS}
    return tuple(sorted(sure, key=_telling, reverse=True)[:_MOST_SETS])


def _telling(texts: Texts) -> tuple[bool, int, int, list[str]]:
    """Rank rare words before common ones, longer texts before shorter ones, few before many."""
    shortest = min(map(len, texts))
    rare = shortest > _LEAST_CHARACTERS and _COMMON.isdisjoint(text.strip(" :'\"") for text in texts)
    return rare, shortest, -len(texts), sorted(texts)


def _either(parts: list[_Part]) -> _Part:
    exact: Texts | None = frozenset()
    needed: Texts | None = frozenset()
    for part in parts:
        best = max(part.promises(), key=_telling, default=None)
        exact = None if exact is None or part.exact is None else exact | part.exact
        needed = None if needed is None or best is None else needed | best
    return _Part(exact if exact and len(exact) <= _MOST else None, (needed,) if needed else ())


def _in_a_row(parts: list[_Part]) -> _Part:
    run: Texts = frozenset({""})  # what the exact parts since the last gap match together
    needed: list[Texts] = []
    whole = True
    for part in parts:
        longer = frozenset(a + b for a in run for b in part.exact) if part.exact is not None else None
        if longer is not None and len(longer) <= _MOST:
            run = longer
            continue
        needed += _Part(run).promises()
        needed += part.needed if part.exact is None else ()
        run = part.exact if part.exact is not None else frozenset({""})
        whole = False
    return _Part(run) if whole else _Part(None, (*needed, *_Part(run).promises()))


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, regex: str) -> None:
        self._regex = regex
        self._at = 0

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
            run = _RUN.match(self._regex, self._at)
            if run:
                self._at = run.end()
                parts.append(_literal(run[0]))
            else:
                parts.append(self._repeated(self._atom()))
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
        return _ANYTHING if character == "." else _literal(character)

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
        return _literal(_CONTROL.get(character, character))

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
        return _ANYTHING if negated else _either([_literal(member) for member in members])

    def _repeated(self, part: _Part) -> _Part:
        """Read what says how often a part stands there."""
        if self._at >= len(self._regex) or self._regex[self._at] not in "?*+{":
            return part
        if self._skip("?"):
            result = _ANYTHING if part.exact is None else _Part(part.exact | {""})
        elif self._skip("*"):
            result = _ANYTHING
        elif self._skip("+"):
            result = _Part(None, part.promises())
        else:
            result = self._counted(part)
        self._skip("?")  # as few as possible: the same texts
        return result

    def _counted(self, part: _Part) -> _Part:
        count, closed, rest = self._regex[self._at + 1 :].partition("}")
        least, _, most = count.partition(",")
        if not closed or not least.isdigit() or not (most or "0").isdigit():
            self._at += 1
            return _in_a_row([part, _literal("{")])  # no count but a brace
        self._at = len(self._regex) - len(rest)
        return _ANYTHING if int(least) == 0 else _Part(None, part.promises())


def _literal(text: str) -> _Part:
    return _Part(frozenset({text.lower()})) if text.isascii() else _ANYTHING
