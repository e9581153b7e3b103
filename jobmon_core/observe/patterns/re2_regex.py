"""The expressions of pattern files: RE2, which matches in linear time, whoever wrote the expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Regex(Protocol):
    """A compiled expression; it searches UTF-8."""

    def search(self, text: bytes) -> object | None:
        """Return the first match, or None."""


class RegexTest:
    """An expression of which only matters whether it matches: four times as quick to ask.

    ``matches`` tells, as true or false, whether the expression matches somewhere in a text in UTF-8. It is
    the library's own function: a call of ours around each of its calls would be a third of their time.
    """

    def __init__(self, regex: str) -> None:
        """Compile ``regex``, which was validated before."""
        import re2

        expression = re2.Set.SearchSet(_options())
        expression.Add(to_bytes(regex))
        expression.Compile()
        self.matches: Callable[[bytes], object] = expression.Match


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
    return options


def to_bytes(text: str) -> bytes:
    """Encode for matching. Total: what UTF-8 has no form for becomes a question mark."""
    return text.encode("utf-8", errors="replace")
