"""The expressions of pattern files: RE2, which matches in linear time, whoever wrote the expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Match(Protocol):
    """Where an expression matched."""

    def start(self) -> int:
        """Return the index of the first byte."""


class Regex(Protocol):
    """A compiled expression; it searches UTF-8."""

    def search(self, text: bytes) -> Match | None:
        """Return the first match, or None."""

    def finditer(self, text: bytes) -> Iterator[Match]:
        """Yield every match, from left to right."""


class Sieve:
    """Many expressions, of which most match nowhere.

    One pass over a text for the literals that the expressions need tells which of them can match at all.
    Source: ``re2/filtered_re2.h``.
    """

    def __init__(self, regexes: Sequence[str]) -> None:
        """Compile ``regexes``, each of which compiles alone."""
        import re2

        self._filter = re2.Filter()
        for regex in regexes:
            self._filter.Add(to_bytes(regex), _options())
        if regexes:
            self._filter.Compile()  # which fails without any
        self._regexes: tuple[Regex, ...] = tuple(self._filter.re(index) for index in range(len(regexes)))

    def candidates(self, text: bytes) -> Iterator[tuple[int, Regex]]:
        """Yield the index and the compiled form of each expression that may match somewhere in ``text``."""
        if self._regexes:
            for index in self._filter.Match(text, potential=True) or ():
                yield index, self._regexes[index]


def compile_regex(regex: str) -> Regex:
    """Compile ``regex``.

    Raises:
        ValueError: RE2 refuses it; the text of the error is RE2's reason.
    """
    import re2  # only for the moment that needs it: a daemon that waits for days stays small

    try:
        compiled: Regex = re2.compile(to_bytes(regex), _options())
    except re2.error as error:
        reason = error.args[0] if error.args else "not understood"
        raise ValueError(reason.decode(errors="replace") if isinstance(reason, bytes) else reason) from error
    return compiled


def _options() -> object:
    import re2

    options = re2.Options()
    options.log_errors = False  # faults are reported by us, not printed by the library
    options.never_nl = True  # so that \\s, [^x] and the like stay within their line of a whole text
    return options


def to_bytes(text: str) -> bytes:
    """Encode for matching. Total: what UTF-8 has no form for becomes a question mark."""
    return text.encode("utf-8", errors="replace")
