"""The columns that a text takes on a terminal: East Asian characters take two, combining marks none."""

from __future__ import annotations

import re
import textwrap

_ELLIPSIS = "…"
# a word, or a command in backquotes with its spaces
_UNBROKEN = re.compile(r"(?:`[^`]*`|\S)+")
_SENTENCE_END = re.compile(r"(?<!\.\.)(?<!e\.g\.)(?<!i\.e\.)(?<=[.!?])\s+")
# what stands before the text of a line: a number of a list, or the first column of a table
_BEFORE_TEXT = re.compile(r" *(?:\d+\. |\S+ {2,})?")
_EXAMPLE = re.compile(r"( +\S.*?) {2,}(\S.*)")  # a command line and a remark
_REMARK_INDENT = " " * 6
_AFTER_NUMBER = re.compile(r"(?<=\d) (?=[a-z])")
_NO_BREAK = "\0"  # stands for a space at which no line ends


def text_width(text: str) -> int:
    """Return the number of columns of ``text``, which has no control characters."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def truncated(text: str, width: int) -> str:
    """Return at most ``width`` columns of ``text``; an ellipsis replaces the rest."""
    if text_width(text) <= width:
        return text
    return _start(text, width - 1) + _ELLIPSIS


def wrap(text: str, width: int) -> list[str]:
    """Break ``text`` at spaces into lines of at most ``width`` columns; longer words are split.

    A number and the word after it stay together.
    """
    lines: list[str] = []
    for line in _AFTER_NUMBER.sub(_NO_BREAK, text).split("\n"):
        if line.isascii() or all(_char_width(character) == 1 for character in line):
            lines += textwrap.wrap(line, width, break_on_hyphens=False) or [""]
        else:
            lines += _wrapped_wide(line, width)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def wrap_unbroken(text: str, width: int) -> list[str]:
    """Break ``text`` at spaces, but not inside backquotes, so that commands and paths can be copied."""
    lines = [""]
    for word in _UNBROKEN.findall(text):
        longer = word
        if lines[-1]:
            longer = f"{lines[-1]} {word}"
        if not lines[-1] or text_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text``; a full stop inside parentheses or backquotes ends none."""
    found: list[str] = []
    for piece in filter(None, _SENTENCE_END.split(text.strip())):
        if found and _is_open(found[-1]):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found


def _is_open(text: str) -> bool:
    return text.count("(") > text.count(")") or text.count("`") % 2 == 1


def fill(text: str, width: int) -> str:
    """Wrap paragraphs at spaces; a line that begins with a space, as in lists and tables, on its own.

    Of examples, only remarks are moved and wrapped, since a wrapped command cannot be copied.
    """
    return "\n\n".join(_filled(paragraph, width) for paragraph in text.split("\n\n"))


def _filled(paragraph: str, width: int) -> str:
    if paragraph.startswith("examples:"):
        return "\n".join(_example(line, width) for line in paragraph.split("\n"))
    lines: list[str] = []
    for line in paragraph.split("\n"):
        is_prose = not line.startswith(" ")
        if is_prose and lines and not lines[-1].startswith(" "):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(_hanging(line, width) for line in lines)


def _example(line: str, width: int) -> str:
    parts = _EXAMPLE.fullmatch(line)
    if parts is None or text_width(line) <= width:
        return line
    command, remark = parts.groups()
    below = textwrap.wrap(
        remark, width, initial_indent=_REMARK_INDENT, subsequent_indent=_REMARK_INDENT, break_on_hyphens=False
    )
    return "\n".join((command, *below))


def _hanging(line: str, width: int) -> str:
    before = None
    if line.startswith(" "):
        before = _BEFORE_TEXT.match(line)
    indent = " " * (before.end() if before else 0)
    return textwrap.fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _wrapped_wide(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        separator = ""
        if lines[-1]:
            separator = " "
        if text_width(lines[-1] + separator + word) <= width:
            lines[-1] += separator + word
            continue
        rest = word
        if lines[-1]:
            lines += [""]
        while text_width(rest) > width:
            lines[-1] = _start(rest, width) or rest[0]  # a wide character may exceed the width alone
            rest = rest[len(lines[-1]) :]
            lines.append("")
        lines[-1] = rest
    return lines


def _start(text: str, width: int) -> str:
    """Return as many of the first characters as fit into ``width`` columns."""
    used = 0
    for position, character in enumerate(text):
        used += _char_width(character)
        if used > width:
            return text[:position]
    return text


def _char_width(character: str) -> int:
    if character.isascii():
        return 1
    from wcwidth import wcwidth  # most texts need it not

    return abs(wcwidth(character))  # -1: a control character
