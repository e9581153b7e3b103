"""What is written on: a terminal, with its width and its bold type, or a file, which has neither."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon.views.text_width import cell_width, chunks, one_line, wrap

_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_NARROWEST = 20


@dataclass(frozen=True, slots=True)
class Console:
    """Turns words into lines that can do a terminal no harm."""

    width: int = 0  # cells of the terminal; 0 for a file or a pipe

    def bold(self, text: str) -> str:
        """Return a line that stands out."""
        return self._styled(_BOLD, text)

    def dim(self, text: str) -> str:
        """Return a line that stands back."""
        return self._styled(_DIM, text)

    def prose(self, text: str, indent: str = "") -> list[str]:
        """Break a text into lines that fit; in a file it is one line."""
        text = one_line(text)
        pieces = wrap(text, self._room - len(indent)) if self.width else [text]
        return [f"{indent}{piece}" for piece in pieces]

    def line(self, text: str) -> str:
        """Return one line, cut where the terminal ends."""
        text = one_line(text)
        if not self.width or cell_width(text) <= self._room:
            return text
        return f"{chunks(text, self._room - 1)[0]}…"

    def path(self, path: str) -> str:
        """Return a path in at most a third of a line: by its end, where the terminal is narrow."""
        path = one_line(path)
        most = self._room // 3
        if not self.width or cell_width(path) <= most:
            return path
        name = path.rpartition("/")[2]
        short = f"…/{name}"
        return short if cell_width(short) <= most else f"…{chunks(name[::-1], most)[0][::-1]}"

    @property
    def _room(self) -> int:
        return max(self.width, _NARROWEST)

    def _styled(self, code: str, text: str) -> str:
        text = self.line(text)
        return f"{code}{text}{_END}" if self.width else text
