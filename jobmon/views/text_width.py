"""Text measured in terminal cells: wide letters take two, combining ones none. Pure."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """Return how many cells of a terminal ``text`` takes."""
    return sum(map(_letter_width, text))


def one_line(text: str) -> str:
    """Return ``text`` with a space for all that is no visible letter: it may hold terminal codes."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def pad(text: str, width: int) -> str:
    """Return ``text`` filled with spaces to ``width`` cells."""
    return text + " " * (width - cell_width(text))


def chunks(text: str, width: int) -> list[str]:
    """Cut ``text`` into pieces of at most ``width`` cells (at least 2), wherever that falls; never none."""
    pieces, piece, used = [], "", 0
    for letter in text:
        needed = _letter_width(letter)
        if used + needed > width:
            pieces.append(piece)
            piece, used = "", 0
        piece += letter
        used += needed
    return [*pieces, piece]


def wrap(text: str, width: int) -> list[str]:
    """Break ``text`` at spaces into lines of at most ``width`` cells; longer words are cut."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _wrapped_line(line, width)
    return lines


def _wrapped_line(text: str, width: int) -> list[str]:
    """Break one line."""
    lines = [""]
    for word in text.split():
        for piece in chunks(word, width):
            longer = f"{lines[-1]} {piece}" if lines[-1] else piece
            if cell_width(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


def _letter_width(letter: str) -> int:
    """Return the cells of one code point."""
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
