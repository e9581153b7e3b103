"""The output of a job, which may be several files, as text that cannot control the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from jobmon.views.console import Console
    from jobmon_core.app.jobs.output import OutputText

_ERASE_LINE = "\r\x1b[K"


@dataclass(slots=True)
class OutputScreen:
    """Turns pieces of several files into text.

    With ``has_headers``, a header as in ``tail`` goes before each piece that does not continue the same file.
    """

    console: Console
    has_headers: bool
    _shown: str = field(default="", init=False)  # the file of the latest piece
    _unfinished: dict[str, str] = field(default_factory=dict, init=False)  # by file
    _ends_unfinished: bool = field(default=False, init=False)  # whether the text so far ends within a line

    def text(self, piece: OutputText) -> str:
        """Return the text to write for the next piece; on a terminal, this includes an unfinished line."""
        body = [one_line(line.expandtabs()) for line in piece.lines]
        if piece.problem and self.has_headers:
            body.append(f"({piece.problem})")
        unfinished = ""
        if self.console.width:
            unfinished = one_line(piece.unfinished.expandtabs())
        if not body and unfinished in ("", self._unfinished.get(piece.path)):
            return ""
        start = ""
        if self._ends_unfinished:
            start = _ERASE_LINE
        self._unfinished[piece.path] = unfinished
        self._ends_unfinished = bool(unfinished)
        header = self._header(piece.path)
        return start + "".join(f"{line}\n" for line in (*header, *body)) + self.console.line(unfinished)

    def end(self) -> str:
        """Return the newline that ends an unfinished line; empty if there is none."""
        if self._ends_unfinished:
            return "\n"
        return ""

    def _header(self, path: str) -> list[str]:
        if not self.has_headers or path == self._shown:
            return []
        header = self.console.styled(f"==> {one_line(path)} <==", Style.BOLD)
        lines = [header]
        if self._shown:
            lines = ["", header]
        self._shown = path
        return lines
