"""Check JSON (RFC 8259) piece by piece, in little memory, however large or deeply nested it is.

As Python's json module does, it accepts NaN and Infinity.
"""

from __future__ import annotations

import codecs
import re
from enum import Enum, auto

from jobmon_core.observe.artifacts.formats.source import Corrupt

_STRING = rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrtu])*+"'
_SCALAR = (
    rb"(?:"
    + _STRING
    + rb"|-?+(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?+\d++)?+|true|false|null|NaN|-?Infinity)"
)
_SPACE = rb"[ \t\r\n]*+"
_TOKEN = re.compile(_SPACE + rb"(?:([{}\[\]:,])|(" + _SCALAR + rb"))")
# many items in one step: a scan token by token is ten times slower
_MEMBERS = re.compile(rb"(?:" + _SPACE + _STRING + _SPACE + rb":" + _SPACE + _SCALAR + _SPACE + rb",)++")
_ELEMENTS = re.compile(rb"(?:" + _SPACE + _SCALAR + _SPACE + rb",)++")
_STRING_PART = re.compile(rb'(?:[^"\\\x00-\x1f]|\\["\\/bfnrtu])*+')
_BLANK = re.compile(_SPACE)
_MAX_SCALAR = 2**12  # characters of a number; that of a string is not limited
_BOM = b"\xef\xbb\xbf"


class _Expected(Enum):
    VALUE = auto()
    VALUE_OR_END = auto()  # after [
    KEY = auto()
    KEY_OR_END = auto()  # after {
    COLON = auto()
    COMMA_OR_END = auto()
    NOTHING = auto()  # the value is complete


class JsonScan:
    """The scan of one JSON text."""

    def __init__(self) -> None:
        """Start before the first piece."""
        self.elements = 0  # of the outermost array, so far
        self.position = 0  # bytes scanned
        self._open = bytearray()  # the brackets that are not closed
        self._expected = _Expected.VALUE
        self._rest = b""
        self._in_string = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    @property
    def is_complete(self) -> bool:
        """Whether one whole value was scanned."""
        return self._expected is _Expected.NOTHING

    @property
    def is_array(self) -> bool:
        """Whether the outermost value is an array, as long as it is not complete."""
        return self._open[:1] == b"["

    @property
    def closing(self) -> bytes:
        """The bracket that ends the outermost value; empty if it is complete or has none."""
        return {b"[": b"]", b"{": b"}"}.get(bytes(self._open[:1]), b"")

    def feed(self, piece: bytes, *, is_last: bool = False) -> None:
        """Scan one more piece.

        Raises:
            Corrupt: it is not JSON.
        """
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise Corrupt(f"is not valid UTF-8 near byte {self.position + error.start:,}") from None
        if not self.position and not self._rest and piece.startswith(_BOM):
            piece, self.position = piece[len(_BOM) :], len(_BOM)
        data = self._rest + piece
        at = self._scan(data, is_last=is_last)
        self.position += at
        self._rest = data[at:]
        if len(self._rest) > _MAX_SCALAR + len(piece) or (
            is_last and self._rest.strip() and not self._is_cut()
        ):
            raise self._corrupt()

    def _is_cut(self) -> bool:
        """Whether the rest may be the beginning of a token."""
        rest = self._rest.lstrip(b" \t\r\n")
        words = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
        return (
            any(word.startswith(rest) for word in words) or re.fullmatch(rb"-?[\d.eE+-]*", rest) is not None
        )

    def _scan(self, data: bytes, *, is_last: bool) -> int:
        """Scan tokens; return where the first incomplete one begins."""
        at = 0
        while at < len(data):
            if self._in_string:
                at = self._string_part(data, at)
                if self._in_string:
                    return at
                continue
            at = self._many(data, at)
            token = _TOKEN.match(data, at)
            if token is None:
                return self._no_token(data, at)
            is_open_ended = token[2] is not None and token[2][:1] != b'"' and token.end() == len(data)
            if is_open_ended and not is_last:  # a number may go on in the next piece
                return at
            self._take(token[1], token[2])
            at = token.end()
        return at

    def _many(self, data: bytes, at: int) -> int:
        """Skip members of an object, or elements of an inner array, that are scalars."""
        if self._expected is _Expected.KEY or (self._expected is _Expected.KEY_OR_END):
            found = _MEMBERS.match(data, at)
            if found:
                self._expected = _Expected.KEY
        elif len(self._open) > 1 and self._expected in (_Expected.VALUE, _Expected.VALUE_OR_END):
            found = _ELEMENTS.match(data, at) if self._open[-1:] == b"[" else None
            if found:
                self._expected = _Expected.VALUE
        else:
            return at
        return found.end() if found else at

    def _no_token(self, data: bytes, at: int) -> int:
        blank = _BLANK.match(data, at)
        at = blank.end() if blank else at
        if at < len(data) and data[at : at + 1] == b'"':
            self._begin_value(is_string=True)
            self._in_string = True
            return self._string_part(data, at + 1)
        if len(data) - at > len(b"-Infinity") and not re.match(rb"-?[\d.eE+-]{9}", data[at : at + 11]):
            self.position += at
            raise self._corrupt()
        return at

    def _string_part(self, data: bytes, at: int) -> int:
        part = _STRING_PART.match(data, at)
        at = part.end() if part else at
        if at == len(data) or (data[at : at + 1] == b"\\" and at + 1 == len(data)):
            return at
        if data[at : at + 1] != b'"':
            self.position += at
            raise self._corrupt()
        self._in_string = False
        return at + 1

    def _take(self, mark: bytes | None, scalar: bytes | None) -> None:
        if scalar is not None:
            self._begin_value(is_string=scalar[:1] == b'"')
        elif mark in (b"{", b"["):
            self._begin_value()
            self._open += mark
            self._expected = _Expected.KEY_OR_END if mark == b"{" else _Expected.VALUE_OR_END
        elif mark == b":" and self._expected is _Expected.COLON:
            self._expected = _Expected.VALUE
        elif mark == b"," and self._expected is _Expected.COMMA_OR_END:
            self._expected = _Expected.KEY if self._open[-1:] == b"{" else _Expected.VALUE
        elif mark in (b"}", b"]"):
            self._close(mark)
        else:
            raise self._corrupt()

    def _close(self, mark: bytes) -> None:
        empty = _Expected.KEY_OR_END if mark == b"}" else _Expected.VALUE_OR_END
        matching = b"{" if mark == b"}" else b"["
        if self._open[-1:] != matching or self._expected not in (empty, _Expected.COMMA_OR_END):
            raise self._corrupt()
        del self._open[-1]
        self._expected = _Expected.COMMA_OR_END if self._open else _Expected.NOTHING

    def _begin_value(self, *, is_string: bool = False) -> None:
        """Note that a value, or the key of a member, begins here, and what follows if it is a scalar."""
        if is_string and self._expected in (_Expected.KEY, _Expected.KEY_OR_END):
            self._expected = _Expected.COLON
            return
        if self._expected not in (_Expected.VALUE, _Expected.VALUE_OR_END):
            raise self._corrupt()
        self.elements += self._open == b"["
        self._expected = _Expected.COMMA_OR_END if self._open else _Expected.NOTHING

    def _corrupt(self) -> Corrupt:
        return Corrupt(f"is not valid JSON near byte {self.position:,}")
