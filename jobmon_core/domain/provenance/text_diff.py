"""How two scripts differ, in bounded time and size."""

from __future__ import annotations

from difflib import SequenceMatcher, unified_diff

_MAX_CHARACTERS = 200_000  # of both texts together; difflib takes quadratic time


def changed_lines(old: str, new: str) -> int:
    """Return how many lines were changed, added or removed; a changed line counts once.

    For texts that are too long to compare, return the difference of their line counts, at least 1.
    """
    if len(old) + len(new) > _MAX_CHARACTERS:
        return abs(len(old.splitlines()) - len(new.splitlines())) or 1
    changes = SequenceMatcher(None, old.splitlines(), new.splitlines()).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in changes if kind != "equal")


def unified(old: str, new: str, at_most: int) -> tuple[str, ...]:
    """Return at most this many lines of a unified diff without its header, then how many more there are."""
    if len(old) + len(new) > _MAX_CHARACTERS:
        return ("too long to be shown",)
    lines = [*_hunks(old, new, 1)]
    more = len(lines) - at_most
    return (*lines[:at_most], f"... and {more} more lines") if more > 0 else tuple(lines)


def _hunks(old: str, new: str, context: int) -> list[str]:
    lines = unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=context)
    return [*lines][2:]  # without the names of the files
