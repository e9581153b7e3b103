"""Output to a terminal, with its width and bold type, or to a file, which has neither."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon.views.text_width import cell_width, chunks, one_line, wrap

_BOLD, _DIM, _END = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_MIN_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Console:
    """Formats text as lines without control characters."""

    width: int = 0  # columns of the terminal; 0 for a file or a pipe

    def bold(self, text: str) -> str:
        """Return a line in bold."""
        return self._styled(_BOLD, text)

    def dim(self, text: str) -> str:
        """Return a line in dim type."""
        return self._styled(_DIM, text)

    def prose(self, text: str, indent: str = "") -> list[str]:
        """Wrap a text to the terminal's width; in a file it is one line."""
        text = one_line(text)
        pieces = wrap(text, self._columns - len(indent)) if self.width else [text]
        return [f"{indent}{piece}" for piece in pieces]

    def line(self, text: str) -> str:
        """Return one line, truncated to the terminal's width."""
        text = one_line(text)
        if not self.width or cell_width(text) <= self._columns:
            return text
        return f"{chunks(text, self._columns - 1)[0]}…"

    def path(self, path: str) -> str:
        """Return a path in at most a third of a line; on a narrow terminal only its end."""
        path = one_line(path)
        limit = self._columns // 3
        if not self.width or cell_width(path) <= limit:
            return path
        name = path.rpartition("/")[2]
        short = f"…/{name}"
        return short if cell_width(short) <= limit else f"…{chunks(name[::-1], limit)[0][::-1]}"

    @property
    def _columns(self) -> int:
        return max(self.width, _MIN_WIDTH)

    def _styled(self, code: str, text: str) -> str:
        text = self.line(text)
        return f"{code}{text}{_END}" if self.width else text
