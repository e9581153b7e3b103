"""Check JSON (RFC 8259) piece by piece, in bounded memory, however large or deeply nested it is.

As Python's json module does, it accepts NaN and Infinity.
"""

from __future__ import annotations

import codecs
import json
import re

from jobmon_core.observe.artifacts.formats.source import Corrupt, Truncated

_SPACE = r"[ \t\r\n]*+"
_STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*+"'
# no character of a number may follow: of `1.` and `2e`, the rest comes with the next piece
_NUMBER = r"-?+(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+-]?+\d++)?+(?![\d.eE+-])"
_SCALAR = rf"(?:{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity)"
_TOKEN = re.compile(rf"{_SPACE}(?:([{{}}\[\]:,])|({_SCALAR}))", re.ASCII)
_ELEMENTS = re.compile(rf"(?:{_SPACE}{_SCALAR}{_SPACE},)++", re.ASCII)
_BRACKETS = re.compile(r"\[++")
_STRING_PART = re.compile(r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*+', re.ASCII)
_CUT_ESCAPE = re.compile(r"\\(?:u[\da-fA-F]{0,3})?", re.ASCII)
_BLANK = re.compile(_SPACE)
_CUT = re.compile(r"-?[\d.eE+-]*|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-?I(?:n|nf|nfi|nfin|nfini|nfinit)?")
_DECODE = json.JSONDecoder().raw_decode  # in C: many times faster than a scan by tokens
_DECODED_DEPTH = 8  # a value that is still incomplete is tried again for each bracket that it opens
_AFTER_VALUE = " \t\r\n,]}"
_MAX_SCALAR = 2**12  # characters of a number; those of a string are not limited

# what may come next
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON, _COMMA_OR_END, _NOTHING = range(7)
_OBJECT, _ARRAY = ord("{"), ord("[")


class JsonScan:
    """The scan of one JSON text."""

    def __init__(self) -> None:
        """Start before the first piece."""
        self.elements = 0  # of the outermost array, so far
        self.steps = 0  # taken so far, each about a microsecond
        self._scanned = 0  # characters
        self._open = bytearray()  # the brackets that are not closed
        self._next = _VALUE
        self._rest = ""
        self._in_string = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    @property
    def is_complete(self) -> bool:
        """Whether one whole value was scanned."""
        return self._next == _NOTHING and not self._in_string

    @property
    def closing(self) -> str:
        """The bracket that ends the outermost value; empty if it is complete or has none."""
        return {_ARRAY: "]", _OBJECT: "}"}[self._open[0]] if self._open else ""

    def feed(self, piece: bytes, *, is_last: bool = False) -> None:
        """Scan one more piece.

        Raises:
            Corrupt: it is not JSON.
            Truncated: the last piece ends inside a character.
        """
        try:
            text = self._decoder.decode(piece, is_last)
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                raise Truncated("ends inside a character") from None
            raise Corrupt(f"is not valid UTF-8 after character {self._scanned:,}") from None
        if not self._scanned and not self._rest:
            text = text.removeprefix("\ufeff")
        text = self._rest + text
        at = self._scan(text, is_last=is_last)
        self._scanned += at
        self._rest = text[at:]
        is_extra = is_last and self.is_complete and self._rest.strip(" \t\r\n")
        if is_extra or (not self._in_string and len(self._rest) > _MAX_SCALAR):
            raise self._corrupt(0)

    def _scan(self, text: str, *, is_last: bool) -> int:
        """Scan tokens; return where the first incomplete one begins."""
        at, end = 0, len(text)
        while at < end:
            self.steps += 1
            if self._in_string:
                at = self._string_part(text, at)
                if self._in_string:
                    return at
                continue
            if self._next <= _VALUE_OR_END and self._open and (after := self._values(text, at)) > at:
                at = after
                continue
            token = _TOKEN.match(text, at)
            if token is None:
                return self._no_token(text, at)
            if token.end() == end and not is_last and token[2] and token[2][0] != '"':
                return at  # a number may go on in the next piece
            self._take(token[1] or "", token[2], token.end())
            at = token.end()
        return at

    def _values(self, text: str, at: int) -> int:
        """Skip one or more values inside an array or object; return ``at`` if none is certainly whole."""
        is_array, depth = self._open[-1] == _ARRAY, len(self._open)
        if is_array and depth > 1 and (found := _ELEMENTS.match(text, at)):
            self._next = _VALUE
            return found.end()
        if is_array and (nested := _BRACKETS.match(text, at)) and len(nested[0]) > _DECODED_DEPTH:
            self._begin_value(at)
            self._open += nested[0].encode()
            self._next = _VALUE_OR_END
            return nested.end()
        if depth > _DECODED_DEPTH:
            return at
        blank = _BLANK.match(text, at)
        try:
            _, end = _DECODE(text, blank.end() if blank else at)
        except (ValueError, RecursionError):  # incomplete, or damaged: the tokens show which
            return at
        if text[end : end + 1] not in _AFTER_VALUE or end == len(text):
            return at
        self._begin_value(at)
        return end

    def _no_token(self, text: str, at: int) -> int:
        """Return where an incomplete token begins."""
        blank = _BLANK.match(text, at)
        at = blank.end() if blank else at
        if text.startswith('"', at):
            self._begin_value(at, is_string=True)
            self._in_string = True
            return self._string_part(text, at + 1)
        if not _CUT.fullmatch(text, at):
            raise self._corrupt(at)
        return at

    def _string_part(self, text: str, at: int) -> int:
        part = _STRING_PART.match(text, at)
        at = part.end() if part else at
        if at == len(text) or _CUT_ESCAPE.fullmatch(text, at):
            return at
        if text[at] != '"':
            raise self._corrupt(at)
        self._in_string = False
        return at + 1

    def _take(self, mark: str, scalar: str | None, at: int) -> None:
        if scalar is not None:
            self._begin_value(at, is_string=scalar[0] == '"')
        elif mark in "{[":
            self._begin_value(at)
            self._open.append(ord(mark))
            self._next = _KEY_OR_END if mark == "{" else _VALUE_OR_END
        elif mark in "}]":
            self._close(mark, at)
        elif mark == ":" and self._next == _COLON:
            self._next = _VALUE
        elif mark == "," and self._next == _COMMA_OR_END:
            self._next = _KEY if self._open[-1] == _OBJECT else _VALUE
        else:
            raise self._corrupt(at)

    def _close(self, mark: str, at: int) -> None:
        opening, empty = (_OBJECT, _KEY_OR_END) if mark == "}" else (_ARRAY, _VALUE_OR_END)
        if not self._open or self._open[-1] != opening or self._next not in (empty, _COMMA_OR_END):
            raise self._corrupt(at)
        del self._open[-1]
        self._next = _COMMA_OR_END if self._open else _NOTHING

    def _begin_value(self, at: int, *, is_string: bool = False) -> None:
        """Note that a value, or the key of a member, begins here, and what follows if it is a scalar."""
        if is_string and self._next in (_KEY, _KEY_OR_END):
            self._next = _COLON
            return
        if self._next > _VALUE_OR_END:
            raise self._corrupt(at)
        self.elements += len(self._open) == 1 and self._open[0] == _ARRAY
        self._next = _COMMA_OR_END if self._open else _NOTHING

    def _corrupt(self, at: int) -> Corrupt:
        return Corrupt(f"is not valid JSON near character {self._scanned + at:,}")
