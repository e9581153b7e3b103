"""A full-screen program of jobmon in a pseudo-terminal, as the user sees its window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import pyte

from tests.support.pseudo_terminal import PseudoTerminal, terminal
from tests.support.waiting import eventually

# pyte does not know the repetition of a character that ncurses sends to an xterm
_TERM = "screen-256color"


class _Window(pyte.Screen):
    """A window that can also scroll, which pyte does not know and ncurses asks for."""

    def scroll_up(self, count: int = 1) -> None:
        """Move the lines between the margins up."""
        column, line = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.bottom if self.margins else self.lines - 1
        for _ in range(count or 1):
            self.index()
        self.cursor.x, self.cursor.y = column, line

    def scroll_down(self, count: int = 1) -> None:
        """Move the lines between the margins down."""
        column, line = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        for _ in range(count or 1):
            self.reverse_index()
        self.cursor.x, self.cursor.y = column, line


class _Stream(pyte.Stream):
    csi = {**pyte.Stream.csi, "S": "scroll_up", "T": "scroll_down"}  # noqa: RUF012 - as in pyte
    events = pyte.Stream.events | {"scroll_up", "scroll_down"}


class DrawnScreen:
    """The window of a running program."""

    def __init__(self, terminal: PseudoTerminal, columns: int, lines: int) -> None:
        self.terminal = terminal
        self._columns, self._lines = columns, lines

    @property
    def window(self) -> pyte.Screen:
        """The window as it is now, with its colours."""
        screen = _Window(self._columns, self._lines)
        _Stream(screen).feed(self.terminal.written)
        return screen

    @property
    def lines(self) -> list[str]:
        """What the window shows now."""
        return [line.rstrip() for line in self.window.display]

    def shows(self, text: str) -> None:
        """Wait until the window shows a text."""
        eventually(lambda: text in "\n".join(self.lines))

    def lacks(self, text: str) -> None:
        """Wait until the window does not show a text any more."""
        eventually(lambda: text not in "\n".join(self.lines))

    def press(self, keys: str) -> None:
        """Press keys, given as what a terminal sends for them."""
        self.terminal.type(keys)

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the window."""
        self._columns, self._lines = columns, lines
        self.terminal.resize(columns, lines)


@contextmanager
def drawn_screen(
    *arguments: str,
    environment: Mapping[str, str],
    settings: Mapping[str, str] = MappingProxyType({}),
    columns: int = 80,
    lines: int = 24,
) -> Iterator[DrawnScreen]:
    """Run jobmon in a window of this size; ``settings`` are further environment variables."""
    settings = {"TERM": _TERM, "LC_ALL": "C.UTF-8", **settings}
    with terminal(
        *arguments, environment=environment, settings=settings, columns=columns, lines=lines
    ) as program:
        yield DrawnScreen(program, columns, lines)
