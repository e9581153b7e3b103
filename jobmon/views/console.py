"""Lines for a terminal, which has a width and colours, or for a file, which has neither."""

from __future__ import annotations

import locale
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from jobmon.views.text_width import sentences, text_width, truncated, wrap, wrap_unbroken
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.app.jobs.output import OutputText

    Lines: TypeAlias = Iterator[str]
    Rows: TypeAlias = Iterator[tuple[str, str]]


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
    """Formats text as lines; except in `styled`, control characters become spaces."""

    width: int = 0  # columns of the terminal; 0 for a file or a pipe
    colour: bool = False

    def styled(self, text: str, style: Style) -> str:
        """Return a text, which has no control characters, in a style if the terminal has colours."""
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
        pieces = wrap(text, columns) if self.width else [text]
        return [f"{following if number else indent}{piece}" for number, piece in enumerate(pieces)]

    def heading(
        self, text: str, style: Style = Style.BOLD, indent: str = "", hanging: str | None = None
    ) -> list[str]:
        """Return a text as `prose` does, in a style."""
        return [self.styled(line, style) for line in self.prose(text, indent, hanging)]

    def headed(self, text: str, style: Style, indent: str = "", hanging: str = "  ") -> Lines:
        """Yield a text as `prose` returns it, its first line in a style."""
        first, *more = self.prose(text, indent, hanging)
        yield self.styled(first, style)
        yield from more

    def rows(self, rows: Iterable[tuple[str, str]], width: int, indent: str = "") -> Lines:
        """Yield each name, in ``width`` columns, and its value, ``to do`` as `advice`; no name repeats."""
        last = ""
        for name, value in rows:
            before = f"{indent}{'' if name == last else name:<{width}} "
            last = name
            draw = self.advice if name == "to do" else self.prose
            yield from draw(value, before, " " * len(before))

    def line(self, text: str) -> str:
        """Return one line, truncated to the terminal's width."""
        text = one_line(text)
        return truncated(text, self._columns) if self.width else text

    def advice(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return advice as `prose` does, several sentences as numbered steps; commands stay unbroken."""
        steps = sentences(one_line(text))
        following = indent if hanging is None else hanging
        lines: list[str] = []
        for number, step in enumerate(steps, 1):
            mark = f"{number}. " if len(steps) > 1 else ""
            columns = max(1, self._columns - max(len(indent), len(following)) - len(mark))
            first, *more = wrap_unbroken(step, columns) if self.width else [step]
            lines.append(f"{following if lines else indent}{mark}{first}")
            lines += [f"{following}{' ' * len(mark)}{line}" for line in more]
        return lines

    def path(self, path: str, indent: str, hanging: str) -> list[str]:
        """Return a path after ``indent``, or on a line of its own after ``hanging``.

        It is not broken: the terminal wraps it itself, and still copies it as one word.
        """
        path = one_line(path)
        line = f"{indent}{path}"
        if not self.width or text_width(line) <= self._columns:
            return [line]
        return [*([indent.rstrip()] if indent.strip() else []), f"{hanging}{path}"]

    @property
    def _columns(self) -> int:
        return max(self.width, _MIN_WIDTH)


# terminals whose font lacks the characters of bars and sparklines
_LIMITED = ("linux", "vt", "ansi", "cons", "sun")


def is_capable(environment: Mapping[str, str]) -> bool:
    """Whether stdin and stdout are a terminal on which text can be placed."""
    if environment.get("TERM", "") in ("", "dumb") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        import curses
    except ImportError:  # a Python that was built without it
        return False
    try:
        curses.setupterm()
    except curses.error:  # the terminal is not known here
        return False
    return curses.tigetstr("cup") is not None


def has_unicode(environment: Mapping[str, str]) -> bool:
    """Set the process's locale; return whether the terminal presumably shows all of UTF-8."""
    with suppress(locale.Error):  # it is not installed: the one that Python started with stays
        locale.setlocale(locale.LC_ALL, "")
    is_utf8 = locale.nl_langinfo(locale.CODESET).replace("-", "").upper() == "UTF8"
    return is_utf8 and not environment.get("TERM", "").startswith(_LIMITED)


_ERASE_LINE = "\r\x1b[K"


@dataclass(slots=True)
class OutputScreen:
    """Turns pieces of several files into text; with ``has_headers``, as ``tail`` does."""

    console: Console
    has_headers: bool
    _shown: str = field(default="", init=False)  # the file of the latest piece
    _unfinished: dict[str, str] = field(default_factory=dict, init=False)  # by file
    _ends_unfinished: bool = field(default=False, init=False)  # whether the text so far ends within a line

    def text(self, piece: OutputText) -> str:
        """Return the text to write for the next piece; on a terminal, with an unfinished line."""
        body = [one_line(line.expandtabs()) for line in piece.lines]
        if piece.problem and self.has_headers:
            body.append(f"({piece.problem})")
        unfinished = one_line(piece.unfinished.expandtabs()) if self.console.width else ""
        if not body and unfinished in ("", self._unfinished.get(piece.path)):
            return ""
        start = _ERASE_LINE if self._ends_unfinished else ""
        self._unfinished[piece.path] = unfinished
        self._ends_unfinished = bool(unfinished)
        header = self._header(piece.path)
        return start + "".join(f"{line}\n" for line in (*header, *body)) + self.console.line(unfinished)

    def end(self) -> str:
        """Return the newline that ends an unfinished line; empty if there is none."""
        return "\n" if self._ends_unfinished else ""

    def _header(self, path: str) -> list[str]:
        if not self.has_headers or path == self._shown:
            return []
        before = [""] if self._shown else []
        self._shown = path
        return [*before, self.console.styled(f"==> {one_line(path)} <==", Style.BOLD)]


_BORDER = 4  # modules; ISO/IEC 18004 asks for a quiet zone of four
# (upper module is dark, lower module is dark) -> the character that draws the light ones on a dark terminal
_HALVES = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
_BLACK_AND_WHITE, _NORMAL = "\x1b[97;40m", "\x1b[0m"  # bright white on black, whatever the user's colours


def qr_lines(text: str, *, colour: bool = False, ascii_only: bool = False) -> list[str]:
    """Return the QR code of a short text; empty if segno is not installed.

    With ``colour``, it is white on black in every terminal; else it needs a dark one. With ``ascii_only``, it
    is twice as large: of 50 characters, 74 columns wide.
    """
    try:
        import segno
    except ImportError:
        return []
    code = segno.make(text, error="l", micro=False)
    rows = [[bool(module) for module in row] for row in code.matrix_iter(border=_BORDER)]
    if ascii_only:
        lines = ["".join("  " if dark else "##" for dark in row) for row in rows]
    else:
        light = [False] * len(rows)
        pairs = zip(rows[::2], [*rows[1::2], light], strict=False)
        lines = ["".join(_HALVES[both] for both in zip(upper, lower, strict=True)) for upper, lower in pairs]
    return [f"{_BLACK_AND_WHITE}{line}{_NORMAL}" for line in lines] if colour else lines
