"""Format lines for a terminal, which has a width and colours, or for a file, which has neither."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jobmon.views.text_width import sentences, text_width, truncated, wrap, wrap_unbroken
from jobmon_core.domain.visible_text import one_line

_MIN_WIDTH = 20
_RESET = "\x1b[0m"


class Style(StrEnum):
    """How a text stands out on a terminal."""

    PLAIN = ""
    BOLD = "\x1b[1m"
    DIM = "\x1b[2m"
    GOOD = "\x1b[32m"  # green
    BAD = "\x1b[31m"  # red
    ATTENTION = "\x1b[33m"  # yellow
    ACTIVE = "\x1b[36m"  # cyan
    SELECTED = "\x1b[7m"  # reverse video


@dataclass(frozen=True, slots=True)
class Console:
    """Formats text as lines; except in `styled`, control characters in the text become spaces."""

    width: int = 0  # columns of the terminal; 0 for a file or a pipe
    colour: bool = False

    def styled(self, text: str, style: Style) -> str:
        """Return a text in a style if the terminal has colours; the text must have no control characters."""
        if self.colour and style and text:
            return f"{style}{text}{_RESET}"
        return text

    def bold(self, text: str) -> str:
        """Return one line, truncated and in bold on a terminal."""
        return self.styled(self.line(text), Style.BOLD)

    def prose(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return a text after ``indent``, wrapped to the terminal's width; for a file, as a single line.

        ``hanging`` replaces ``indent`` before all lines but the first.
        """
        text = one_line(text)
        following = indent if hanging is None else hanging
        columns = max(1, self._columns - max(len(indent), len(following)))
        pieces = [text]
        if self.width:
            pieces = wrap(text, columns)
        return [f"{following if number else indent}{piece}" for number, piece in enumerate(pieces)]

    def line(self, text: str) -> str:
        """Return one line, truncated to the terminal's width."""
        text = one_line(text)
        if self.width:
            return truncated(text, self._columns)
        return text

    def advice(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return advice as `prose` does, with several sentences as numbered steps; commands stay unbroken."""
        steps = sentences(one_line(text))
        following = indent if hanging is None else hanging
        lines: list[str] = []
        for number, step in enumerate(steps, 1):
            mark = ""
            if len(steps) > 1:
                mark = f"{number}. "
            columns = max(1, self._columns - max(len(indent), len(following)) - len(mark))
            first, *more = wrap_unbroken(step, columns) if self.width else [step]
            lines.append(f"{following if lines else indent}{mark}{first}")
            lines += [f"{following}{' ' * len(mark)}{line}" for line in more]
        return lines

    def path(self, path: str, indent: str, hanging: str) -> list[str]:
        """Return a path after ``indent``; if that does not fit, on a line of its own after ``hanging``.

        The path is not broken: the terminal itself wraps a longer one, and still copies it as one word.
        """
        path = one_line(path)
        line = f"{indent}{path}"
        if not self.width or text_width(line) <= self._columns:
            return [line]
        if indent.strip():
            return [indent.rstrip(), f"{hanging}{path}"]
        return [f"{hanging}{path}"]

    @property
    def _columns(self) -> int:
        return max(self.width, _MIN_WIDTH)
