"""Text measured in terminal cells: wide characters take two, combining characters none."""

from __future__ import annotations

import unicodedata


def cell_width(text: str) -> int:
    """Return how many cells of a terminal ``text`` takes."""
    return sum(map(_character_width, text))


def one_line(text: str) -> str:
    """Return ``text`` with unprintable characters, such as control codes, replaced by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def pad(text: str, width: int) -> str:
    """Return ``text`` filled with spaces to ``width`` cells."""
    return text + " " * (width - cell_width(text))


def chunks(text: str, width: int) -> list[str]:
    """Cut ``text`` into pieces of at most ``width`` cells (at least 2), between any two characters."""
    pieces, piece, used = [], "", 0
    for character in text:
        needed = _character_width(character)
        if used + needed > width:
            pieces.append(piece)
            piece, used = "", 0
        piece += character
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


def _character_width(character: str) -> int:
    """Return the cells of one code point."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
