"""Read the lines of a text file in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.artifacts.formats.source import Corrupt, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.observe.artifacts.formats.source import Source

_MAX_LINE = 2**20  # bytes
_SAMPLE_COUNT = 8
_SAMPLE_BYTES = 2**17
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line without its newline."""

    text: bytes
    offset: int  # of its first byte in the file
    number: int | None = None  # from 1; only `all_lines` sets it
    is_unterminated: bool = False  # no newline before the end of the range that was read
    is_too_long: bool = (
        False  # longer than about 1 MiB: `text` has only its end, and `offset` is where this end starts
    )

    @property
    def where(self) -> str:
        """Where the line is, e.g. ``line 17``."""
        return f"line {self.number:,}" if self.number else f"a line near byte {self.offset:,}"


def all_lines(source: Source) -> Iterator[Line]:
    """Yield every line of a file."""
    for number, line in enumerate(_lines(source, 0, source.size), 1):
        yield line._replace(number=number)


def lines_between(source: Source, begin: int, end: int) -> Iterator[Line]:
    """Yield the lines that start and end between two offsets; the first one only if ``begin`` is 0.

    The last line of the file needs no newline.
    """
    lines = _lines(source, begin, end)
    if begin:
        next(lines, None)  # most likely it starts before `begin`
    for line in lines:
        if line.is_unterminated and end < source.size:  # it continues beyond `end`
            return
        yield line


def sampled_ranges(size: int, max_bytes: int) -> list[tuple[int, int]]:
    """Return the offsets of the parts of a large file that are read: its start, samples, its end."""
    part = max_bytes // 4
    step = (size - 2 * part) // (_SAMPLE_COUNT + 1)
    starts = [part + step * number for number in range(1, _SAMPLE_COUNT + 1)]
    return [
        (0, part),
        *((begin, min(begin + min(_SAMPLE_BYTES, part), size)) for begin in starts),
        (size - part, size),
    ]


def reject_nul_bytes(data: bytes, offset: int = 0) -> None:
    """Raise `Corrupt` if the data contain NUL bytes, as after a crash of a node or of its file server."""
    at = data.find(b"\0")
    if at >= 0:
        near = f" at byte {offset + at:,}" if offset else ""
        raise Corrupt(f"contains NUL bytes{near}: data were lost, e.g. when the node crashed")


def _lines(source: Source, begin: int, end: int) -> Iterator[Line]:
    rest, offset, is_too_long = b"", begin, False
    for piece in pieces(source, begin, end):
        if not begin and not offset and not rest and piece.startswith(_BOM):
            piece, offset = piece[len(_BOM) :], len(_BOM)  # noqa: PLW2901 - the same piece, without its mark
        *whole, last = piece.split(b"\n")
        for text in whole:
            yield Line(rest + text, offset, is_too_long=is_too_long)
            offset += len(rest) + len(text) + 1
            rest, is_too_long = b"", False
        rest += last
        if len(rest) > _MAX_LINE:
            offset, rest, is_too_long = offset + len(rest), b"", True
    if rest or is_too_long:
        yield Line(rest, offset, is_unterminated=True, is_too_long=is_too_long)
