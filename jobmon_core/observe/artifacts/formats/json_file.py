"""Check JSON files and files of JSON lines, in bounded memory. JSON is what Python's json module reads."""

from __future__ import annotations

import codecs
import json
import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.observe.artifacts.formats.source import PIECE, Corrupt, Truncated, pieces, valid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.domain.artifacts.model import FileCheck
    from jobmon_core.observe.artifacts.formats.source import Source


_MAX_LINE = 2**20  # bytes
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
        if self.number:
            return f"line {self.number:,}"
        return f"a line near byte {self.offset:,}"


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


_MAX_DECODED = 2 * 2**20  # bytes; what they are decoded to takes up to 25 times as many in memory
_EDGE = 2**12  # bytes at the end of a file
_BEFORE_ELEMENT = re.compile(r"[ \t\r\n]*([\[,\]])[ \t\r\n]*")
# what a text may end with that was cut inside a number, a word or an escape
_CUT = re.compile(
    r"[\d.eE+-]*|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-?I(?:n|nf|nfi|nfin|nfini|nfinit)?|u[\da-fA-F]{0,4}"
)
# objects are dropped as they are read, to save memory; as a float, a number may have any number of digits
_DECODER = json.JSONDecoder(object_pairs_hook=lambda _: None, parse_int=float)


def check_json(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of a JSON file, or of JSON lines."""
    if _looks_like_json_lines(source):
        return check_json_lines(source, max_bytes)
    is_all = source.size <= min(max_bytes, _MAX_DECODED)
    text = "".join(_texts(source, min(max_bytes, _MAX_DECODED)))
    closing = {"[": "]", "{": "}"}.get(text.lstrip()[:1], "")
    try:
        value = decoded(text)
    except RecursionError:
        is_all = False
    except Truncated:
        if is_all:
            what = {"]": "ends inside its array", "}": "ends inside its object"}
            raise Truncated(what.get(closing, "is cut off")) from None
    else:
        if is_all:
            return valid("json", len(value) if isinstance(value, list) else None)
    tail = source.read_at(max(0, source.size - _EDGE), _EDGE).rstrip(b" \t\r\n")
    reject_nul_bytes(tail)
    if not tail.endswith(closing.encode()):
        raise Truncated(f"does not end with {closing}")
    is_counted = closing == "]" and _MAX_DECODED < source.size <= max_bytes
    count = count_elements(_texts(source, source.size)) if is_counted else None
    return valid("json", count, is_sampled=count is None)


def _texts(source: Source, end: int) -> Iterator[str]:
    decoder, at, characters = codecs.getincrementaldecoder("utf-8-sig")(), 0, 0
    for piece in pieces(source, 0, min(source.size, end)):
        reject_nul_bytes(piece, at)
        at += len(piece)
        try:
            text = decoder.decode(piece, at == source.size)
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                raise Truncated("ends inside a character") from None
            raise Corrupt(f"is not valid UTF-8 after character {characters:,}") from None
        characters += len(text)
        yield text


def decoded(text: str) -> object:
    """Return what a JSON text means, with None in place of objects and floats in place of integers.

    Raises:
        Corrupt, Truncated: it is not JSON; it would be if it went on.
        RecursionError: it is nested too deeply to be decoded.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _damage(error) from None


def _damage(error: json.JSONDecodeError, dropped: int = 0) -> Truncated | Corrupt:
    if error.msg.startswith("Unterminated string") or _CUT.fullmatch(error.doc, error.pos):
        return Truncated("is cut off")
    return Corrupt(f"is not valid JSON near character {dropped + error.pos:,}")


def count_elements(texts: Iterable[str]) -> int | None:
    """Return how many elements an array has; None if one of them is too large or too deep to be decoded."""
    text, dropped, count = "", 0, 0
    for piece in texts:
        text += piece
        try:
            at, count = _whole_elements(text, dropped, count)
        except RecursionError:
            return None
        text, dropped = text[at:], dropped + at
        if len(text) > _MAX_DECODED:
            return None
    if text.strip() == "]" and count:
        return count
    if text.strip().startswith("]"):
        raise Corrupt(f"is not valid JSON near character {dropped:,}")
    raise Truncated("ends inside its array")


def _whole_elements(text: str, dropped: int, count: int) -> tuple[int, int]:
    at, mark = 0, _BEFORE_ELEMENT.match(text)
    if mark is None and text.strip():
        raise Corrupt(f"is not valid JSON near character {dropped:,}")
    while mark and mark[1] != "]":
        if mark[1] != ("," if count else "["):
            raise Corrupt(f"is not valid JSON near character {dropped + at:,}")
        try:
            _, end = _DECODER.raw_decode(text, mark.end())
        except json.JSONDecodeError as error:
            if isinstance(damage := _damage(error, dropped), Corrupt):
                raise damage from None
            break
        mark = _BEFORE_ELEMENT.match(text, end)
        if mark:
            at, count = end, count + 1
        elif not _CUT.fullmatch(text[end:].strip()):  # else e.g. a number may go on in the next piece
            raise Corrupt(f"is not valid JSON near character {dropped + end:,}")
    return at, count


def _looks_like_json_lines(source: Source) -> bool:
    head = source.read_at(0, PIECE).lstrip(b"\xef\xbb\xbf \t\r\n")
    line, newline, rest = head.partition(b"\n")
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return bool(newline) and rest.lstrip()[:1] in (b"{", b"[")


def check_json_lines(source: Source, max_bytes: int) -> FileCheck:
    """Return the content of JSON lines; of a file above ``max_bytes``, the start and the end are checked."""
    if source.size <= max_bytes:
        records = sum(_check_line(line) for line in all_lines(source))
        return valid("jsonl", records)
    half = max_bytes // 2
    ends = lines_between(source, 0, half), lines_between(source, source.size - half, source.size)
    for line in chain(*ends):
        _check_line(line)
    return valid("jsonl", is_sampled=True)


def _check_line(line: Line) -> bool:
    """Check a line; return False if it is blank. One over 1 MiB counts as a record and is not checked."""
    reject_nul_bytes(line.text, line.offset)
    if line.is_too_long:
        return True
    if not line.text.strip():
        return False
    try:
        decoded(line.text.decode())
    except RecursionError:
        return True
    except (Truncated, Corrupt, UnicodeDecodeError) as damage:
        if line.is_unterminated:
            raise Truncated("ends inside its last line") from None
        if isinstance(damage, Truncated):
            raise Corrupt(f"has an incomplete record in {line.where}") from None
        raise Corrupt(f"is not valid JSON in {line.where}") from None
    return True
