"""Format lines for a terminal, which has a width and bold type, or for a file, which has neither."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

_MIN_WIDTH = 20


def one_line(text: str) -> str:
    """Return ``text`` with unprintable characters, such as control codes, replaced by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)


def wrap(text: str, width: int) -> list[str]:
    """Break ``text`` at spaces into lines of at most ``width`` characters; longer words are split."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    return lines


def truncated(text: str, width: int) -> str:
    """Return at most ``width`` characters of ``text``; an ellipsis replaces the rest."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


@dataclass(frozen=True, slots=True)
class Console:
    """Formats text as lines; control characters in the text become spaces."""

    width: int = 0  # columns of the terminal; 0 for a file or a pipe

    def bold(self, text: str) -> str:
        """Return one line, truncated and in bold on a terminal."""
        text = self.line(text)
        return f"\x1b[1m{text}\x1b[0m" if self.width else text

    def prose(self, text: str, indent: str = "") -> list[str]:
        """Return a text as lines after ``indent``: of the terminal's width, or a single one for a file."""
        text = one_line(text)
        pieces = wrap(text, self._columns - len(indent)) if self.width else [text]
        return [f"{indent}{piece}" for piece in pieces]

    def line(self, text: str) -> str:
        """Return one line, truncated to the terminal's width."""
        text = one_line(text)
        return truncated(text, self._columns) if self.width else text

    def path(self, path: str) -> str:
        """Return a path; if it exceeds a third of the terminal's width, only its end."""
        path = one_line(path)
        limit = self._columns // 3
        if not self.width or len(path) <= limit:
            return path
        short = f"…/{path.rpartition('/')[2]}"
        return short if len(short) <= limit else f"…{short[1 - limit :]}"

    @property
    def _columns(self) -> int:
        return max(self.width, _MIN_WIDTH)
