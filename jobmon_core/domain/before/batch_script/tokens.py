"""Split a shell script into words, operators, redirections and comments.

Source: "Shell Grammar" and "Expansion" of bash(1). Never raises: an open quote ends with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.before.batch_script.model import Part, PartKind

_REDIRECTION = re.compile(r"(\d*|&)(<<<|<<-?|>>|>\||>&|<&|<>|&>>?|>|<)(?!\()")
_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|[;&|()\n]")
_NAME = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!-]")
_BRACED = re.compile(r"([A-Za-z_]\w*|\d+|[@*#?$!-])(?:(:?[-=+?])(.*))?", re.DOTALL)
_PLAIN = re.compile(r"[^\s\\'\"`$;&|()<>]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\\\"`$]+")
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_RUNS_COMMAND = re.compile(r"[$<>]\(|`")  # $(...), <(...), >(...) and `...`
_BLANK = " \t\r"
_MAX_DEPTH = 4  # of defaults within defaults


class TokenKind(StrEnum):
    """What a token is."""

    WORD = "word"
    OPERATOR = "operator"
    REDIRECTION = "redirection"
    COMMENT = "comment"  # one that starts its line


class Token(NamedTuple):
    """A piece of a script."""

    kind: TokenKind
    text: str  # as written
    line: int  # from 1
    parts: tuple[Part, ...] = ()


def tokens_of(text: str) -> Iterator[Token]:
    """Without the bodies of here-documents."""
    return _Lexer(text).tokens()


def parts_of(text: str, depth: int = 0) -> tuple[Part, ...]:
    """Of a text in which the shell expands variables, such as a default."""
    return tuple(_Lexer(text, depth).quoted(len(text)))


class _Lexer:
    def __init__(self, text: str, depth: int = 0) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._line, self._counted = 1, 0  # the number of the line at a position
        self._documents: list[tuple[str, bool]] = []  # here-documents that begin at the next line
        self._is_after_heredoc = False  # the next word is the delimiter of one
        self._in_test = False  # within [[ ]]

    def tokens(self) -> Iterator[Token]:
        while self._at < len(self._text):
            if (char := self._text[self._at]) in _BLANK:
                self._at += 1
            elif self._text.startswith("\\\n", self._at):
                self._at += 2
            elif char == "#":
                yield from self._comment()
            else:
                yield self._token()

    def _token(self) -> Token:
        line = self._line_number()
        if not self._in_test and (found := _REDIRECTION.match(self._text, self._at)):
            self._at = found.end()
            self._is_after_heredoc = found[2] in ("<<", "<<-")
            return Token(TokenKind.REDIRECTION, found[0], line)
        found = _OPERATOR.match(self._text, self._at)
        if found and not (self._in_test and found[0] != "\n"):
            if self._text.startswith("((", self._at):
                return self._arithmetic(line)
            self._at = found.end()
            if found[0] == "\n":
                self._skip_documents()
                self._in_test = False
            return Token(TokenKind.OPERATOR, found[0], line)
        return self._word(line)

    def _arithmetic(self, line: int) -> Token:
        start = self._at
        end = self._text.find("))", start)
        self._at = len(self._text) if end < 0 else end + 2
        source = self._text[start : self._at]
        return Token(TokenKind.WORD, source, line, (Part(PartKind.OTHER, source),))

    def _word(self, line: int) -> Token:
        start = self._at
        parts: list[Part] = []
        while self._at < len(self._text) and not self._ends_word(start):
            is_array = self._text[self._at] == "("
            parts += [self._substitution(self._at, self._at + 1)] if is_array else self._piece()
        raw = self._text[start : self._at]
        if self._is_after_heredoc:
            plain = "".join(part.text for part in parts)
            self._documents.append((plain, self._text[:start].rstrip(_BLANK).endswith("<<-")))
            self._is_after_heredoc = False
        self._in_test = raw == "[[" or (self._in_test and raw != "]]")
        return Token(TokenKind.WORD, raw, line, tuple(_joined(parts)))

    def _ends_word(self, start: int) -> bool:
        char = self._text[self._at]
        if char in _BLANK or char == "\n":
            return True
        if self._in_test and not (self._at == start + 2 and self._text.startswith("]]", start)):
            return False
        if char == "(" and _ARRAY.fullmatch(self._text, start, self._at):  # names=(a b)
            return False
        return char in ";&|()" or (char in "<>" and not self._text.startswith("(", self._at + 1))

    def _piece(self) -> list[Part]:
        text, at = self._text, self._at
        if found := _PLAIN.match(text, at):
            self._at = found.end()
            return [Part(PartKind.LITERAL, found[0])]
        if text.startswith(("<(", ">("), at):
            return [self._substitution(at, at + 2)]
        char = text[at]
        if char == "'" or text.startswith("$'", at):
            return [self._single_quoted(at + (char == "$"))]
        if char == '"' or text.startswith('$"', at):
            self._at = at + 1 + (char == "$")
            parts = [part._replace(is_quoted=True) for part in self.quoted()]
            self._at += 1
            return parts or [Part(PartKind.LITERAL, "", is_quoted=True)]
        if char == "\\":
            self._at = at + 2
            escaped = text[at + 1 : at + 2]
            return [] if escaped == "\n" else [Part(PartKind.LITERAL, escaped, is_quoted=True)]
        return [self._expansion()]

    def _single_quoted(self, start: int) -> Part:
        end = self._text.find("'", start + 1)
        end = len(self._text) if end < 0 else end
        self._at = end + 1
        return Part(PartKind.LITERAL, self._text[start + 1 : end], is_quoted=True)

    def quoted(self, end: int = -1) -> list[Part]:
        """Up to the closing double quote; with ``end``, to the end of the text."""
        parts: list[Part] = []
        while self._at < len(self._text) and (end >= 0 or self._text[self._at] != '"'):
            if found := _PLAIN_IN_QUOTES.match(self._text, self._at):
                self._at = found.end()
                parts.append(Part(PartKind.LITERAL, found[0]))
            elif self._text[self._at] == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                kept = "" if escaped in ("$", "`", '"', "\\", "\n") else "\\"
                parts.append(Part(PartKind.LITERAL, kept + escaped.strip("\n")))
                self._at += 2
            elif self._text[self._at] == '"':  # a quote within a default
                self._at += 1
            else:
                parts.append(self._expansion())
        return _joined(parts)

    def _expansion(self) -> Part:
        """What begins with ``$`` or a backtick, else one character."""
        text, at = self._text, self._at
        if text[at] == "`":
            end = text.find("`", at + 1)
            self._at = len(text) if end < 0 else end + 1
            return Part(PartKind.OTHER, text[at + 1 : self._at - 1])
        if text.startswith("$(", at):
            return self._substitution(at, at + 2)
        if text.startswith("${", at):
            return self._braced(at + 2)
        if text[at] == "$" and (found := _NAME.match(text, at + 1)):
            self._at = found.end()
            return Part(PartKind.VARIABLE, found[0])
        self._at = at + 1
        return Part(PartKind.LITERAL, text[at])

    def _substitution(self, start: int, inner: int) -> Part:
        self._at = _closing(self._text, inner, "(", ")") + 1
        return Part(PartKind.OTHER, self._text[inner : self._at - 1] or self._text[start : self._at])

    def _braced(self, inner: int) -> Part:
        end = _closing(self._text, inner, "{", "}")
        source, self._at = self._text[inner:end], end + 1
        found = _BRACED.fullmatch(source)
        if found is None:
            return Part(PartKind.OTHER, f"${{{source}}}")
        if found[2] is None:
            return Part(PartKind.VARIABLE, found[1])
        has_default = found[2].strip(":") in ("-", "=") and self._depth < _MAX_DEPTH
        default = parts_of(found[3], self._depth + 1) if has_default else ()
        return Part(
            PartKind.VARIABLE,
            found[1],
            default=default,
            is_alternative=found[2].endswith("+"),
            runs_command=_RUNS_COMMAND.search(found[3]) is not None,
        )

    def _comment(self) -> Iterator[Token]:
        line, start = self._line_number(), self._at
        end = self._text.find("\n", start)
        self._at = len(self._text) if end < 0 else end
        if start == 0 or self._text[start - 1] == "\n":
            yield Token(TokenKind.COMMENT, self._text[start : self._at], line)

    def _skip_documents(self) -> None:
        for delimiter, has_tabs in self._documents:
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line, self._at = self._text[self._at : end].rstrip("\r"), end + 1
                if (line.lstrip("\t") if has_tabs else line) == delimiter:
                    break
        self._documents = []

    def _line_number(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line


def _joined(parts: list[Part]) -> list[Part]:
    """Neighbouring literals are one if both are quoted or both are not."""
    joined: list[Part] = []
    for part in parts:
        last = joined[-1] if joined else None
        both = last and last.kind is part.kind is PartKind.LITERAL and last.is_quoted == part.is_quoted
        if last and both:
            joined[-1] = last._replace(text=last.text + part.text)
        else:
            joined.append(part)
    return joined


def _closing(text: str, start: int, opening: str, closing: str) -> int:
    """The position of the bracket that closes the one before ``start``, else the end."""
    depth, at, quote = 1, start, ""
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        else:
            depth += (char == opening) - (char == closing)
            if not depth:
                return at
        at += 1
    return len(text)
