"""Read the commands of a shell script. Never raises: what does not fit is left out."""

from __future__ import annotations

import re
from dataclasses import replace

from jobmon_core.domain.before.batch_script.model import (
    BatchScript,
    Command,
    Part,
    PartKind,
    Word,
)
from jobmon_core.domain.before.batch_script.tokens import Token, TokenKind, tokens_of

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(.*)", re.DOTALL)
_MAX_CHARACTERS = 200_000  # far more than a person writes
_MAX_COMMANDS = 2_000
_OPENS = {"if": "condition", "while": "condition", "until": "condition", "{": "group"}
_CONTINUES = {"then": "branch", "else": "branch", "elif": "condition", "do": "loop"}
_CLOSES = ("fi", "done", "esac", "}")
_SKIPPED = ("!", "time", "coproc")
_HEADS = ("for", "select", "case")  # each is read as a command, with the words that follow


def parse_script(text: str) -> BatchScript:
    """One for another program than a shell has no commands."""
    first = text.partition("\n")[0].rstrip("\r")
    shebang = first[2:].strip() if first.startswith("#!") else ""
    script = BatchScript(text, shebang)
    if not script.is_shell:
        comments = enumerate(text.split("\n"), 1)
        return replace(script, comments=tuple((n, line) for n, line in comments if line.startswith("#")))
    parser = _Parser()
    found: list[tuple[int, str]] = []
    for token in tokens_of(text[:_MAX_CHARACTERS]):
        if token.kind is TokenKind.COMMENT:
            found.append((token.line, token.text))
        else:
            parser.take(token)
    parser.end_command("")
    return replace(script, commands=tuple(parser.commands[:_MAX_COMMANDS]), comments=tuple(found))


class _Parser:
    def __init__(self) -> None:
        self.commands: list[Command] = []
        self._within: list[str] = []
        self._after = ""
        self._line = 0
        self._words: list[Word] = []
        self._assignments: list[tuple[str, Word]] = []
        self._redirections: list[tuple[str, Word]] = []
        self._redirection = ""  # whose target is the next word
        self._in_pattern = False  # of a case
        self._defines_function = False
        self._expects_name = False  # of a function

    def take(self, token: Token) -> None:
        if token.kind is not TokenKind.OPERATOR and not self._has_begun():
            self._line = token.line
        if token.kind is TokenKind.REDIRECTION:
            self._redirection = token.text
        elif token.kind is TokenKind.OPERATOR:
            self._operator(token.text)
        elif self._redirection:
            operator = self._redirection.lstrip("0123456789")
            self._redirections.append((operator, Word(token.parts, token.text)))
            self._redirection = ""
        elif not self._in_pattern or token.text == "esac":
            self._word(token)

    def _word(self, token: Token) -> None:
        if self._expects_name:
            self._expects_name = False
            return
        if not self._has_begun() and self._take_keyword(token.text):
            return
        found = ASSIGNMENT.fullmatch(token.text)
        if found and not self._words:
            value = Word(without_prefix(token.parts, len(token.text) - len(found[2])), found[2])
            self._assignments.append((found[1], value))
            return
        self._words.append(Word(token.parts, token.text))
        if token.text == "in" and self._words[0].raw == "case":  # patterns follow
            self.end_command(";")

    def _has_begun(self) -> bool:
        return bool(self._words or self._assignments or self._redirections or self._redirection)

    def _take_keyword(self, text: str) -> bool:
        """Whether it is a reserved word."""
        if text in _OPENS:
            kind = "function" if text == "{" and self._defines_function else _OPENS[text]
            self._within.append(kind)
            self._defines_function = False
        elif text in _CONTINUES:
            self._within[-1:] = [_CONTINUES[text]]
        elif text in _CLOSES:
            self._in_pattern = False
            self._within[-1:] = []
        elif text == "function":
            self._defines_function = self._expects_name = True
        else:
            return text in _SKIPPED
        if text not in (*_CLOSES, "function"):
            self._after = ""
        return True

    def _operator(self, text: str) -> None:
        if self._in_pattern:
            self._in_pattern = text != ")"
        elif text == "(" and len(self._words) == 1 and not self._redirections:  # name() { ... }
            self._words, self._assignments, self._defines_function = [], [], True
        elif text == "(":
            self.end_command("")
            self._within.append("subshell")
        elif text == ")":
            self.end_command("")
            self._defines_function = self._defines_function and self._within[-1:] != ["subshell"]
            if self._within[-1:] == ["subshell"]:
                self._within.pop()
        else:
            self.end_command(";" if text == "\n" else text)
            self._in_pattern = text.startswith(";;") and "case" in self._within[-1:]

    def end_command(self, operator: str) -> None:
        """Finish the command that ``operator`` ends."""
        head = self._words[0].raw if self._words else ""
        if self._words or self._assignments or self._redirections:  # not for `>` without a target
            parts = tuple(self._words), tuple(self._assignments), tuple(self._redirections)
            self.commands.append(Command(self._line, *parts, self._after, operator, tuple(self._within)))
            self._after = operator
        elif operator in ("&&", "||", "|", "&"):  # after the end of a group or of a loop
            self._after = operator
            if self.commands and operator == "&":
                self.commands[-1] = replace(self.commands[-1], operator_after=operator)
        self._words, self._assignments, self._redirections, self._redirection = [], [], [], ""
        if head in _HEADS:
            self._within.append("case" if head == "case" else "head")
            self._in_pattern = head == "case"


def without_prefix(parts: tuple[Part, ...], length: int) -> tuple[Part, ...]:
    """The parts of ``NAME=value`` without the name and the sign (``length`` characters)."""
    first, *others = parts
    rest = first.text[length:] if first.kind is PartKind.LITERAL else first.text
    return (first._replace(text=rest), *others) if rest or not others else tuple(others)
