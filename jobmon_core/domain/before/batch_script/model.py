"""A shell script as commands made of words, as far as its text shows it.

Nothing is run: a value that the text does not show is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

_MAX_VALUE = 100_000  # characters: variables made of variables can grow without bound
UNKNOWN = "\0"  # in place of a text that only the job will know
_CONDITION = "condition"
_LOOP = "loop"
_FUNCTION = "function"


class PartKind(StrEnum):
    """What it is."""

    LITERAL = "literal"
    VARIABLE = "variable"
    OTHER = "other"  # a substitution, arithmetic, or an expansion that changes the value


class Part(NamedTuple):
    """A part of a word."""

    kind: PartKind
    text: str  # of a variable its name, else as written
    is_quoted: bool = False
    # of ``${NAME:-default}``; empty with another guard, e.g. in ``${NAME:?}``; None without a guard
    default: tuple[Part, ...] | None = None
    is_alternative: bool = False  # ``${NAME:+text}``
    runs_command: bool = False  # by a substitution after its guard


class Word(NamedTuple):
    """A word of a command."""

    parts: tuple[Part, ...]
    raw: str = ""  # as written

    @property
    def literal(self) -> str | None:
        """With the defaults of its variables; None if that is not known."""
        return self.value({})

    def value(self, variables: Mapping[str, str | None]) -> str | None:
        """With these variables expanded; None if that is not known.

        A value of None in ``variables`` is one that only the job will know.
        """
        texts = [_part_value(part, variables) for part in self.parts]
        known = [text for text in texts if text is not None]
        is_known = len(known) == len(texts) and sum(map(len, known)) <= _MAX_VALUE
        return "".join(known) if is_known else None

    def split(self, variables: Mapping[str, str | None]) -> list[str | None]:
        """The words that the shell makes of it."""
        value = self.value(variables)
        first = self.parts[0] if self.parts else Part(PartKind.LITERAL, "")
        if value is not None:
            is_bare = len(self.parts) == 1 and first.kind is PartKind.VARIABLE and not first.is_quoted
            return list(value.split()) if is_bare else [value]
        is_option = first.kind is PartKind.LITERAL and first.text.startswith("-") and first.text.endswith("=")
        return [f"{first.text}{UNKNOWN}"] if is_option else [None]

    def is_glob(self) -> bool:
        """Whether the shell replaces it by names of files."""
        return any(
            part.kind is PartKind.LITERAL and not part.is_quoted and any(each in part.text for each in "*?[")
            for part in self.parts
        )

    def uses(self) -> Iterator[Part]:
        """The parts that are variables, also within defaults."""
        for part in self.parts:
            if part.kind is PartKind.VARIABLE:
                yield part
            yield from Word(part.default or ()).uses()


def _part_value(part: Part, variables: Mapping[str, str | None]) -> str | None:
    if part.kind is PartKind.LITERAL:
        return part.text
    if part.kind is PartKind.OTHER or part.is_alternative:
        return None
    if part.default and variables.get(part.text, "") == "":  # not if only the job will know it
        return Word(part.default).value(variables)
    return variables.get(part.text)


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command, or the head of a ``for``, ``select`` or ``case``."""

    line: int  # from 1
    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()  # ``NAME=value``, before its words or alone
    redirections: tuple[tuple[str, Word], ...] = ()  # e.g. ``>>``, without a descriptor, and the target
    operator_before: str = ""  # a newline counts as ``;``
    operator_after: str = ""
    within: tuple[str, ...] = ()  # outermost first

    @property
    def name(self) -> str:
        """The program without its folder; empty if the text does not show it."""
        text = self.words[0].literal if self.words else ""
        return (text or "").rpartition("/")[2]

    @property
    def is_condition(self) -> bool:
        """Of an ``if``, ``while`` or ``until``."""
        return _CONDITION in self.within[-1:]

    @property
    def in_loop(self) -> bool:
        """In the body of one."""
        return _LOOP in self.within

    @property
    def in_function(self) -> bool:
        """In the definition of one."""
        return _FUNCTION in self.within

    @property
    def in_background(self) -> bool:
        """The script goes on while it runs (``&``)."""
        return self.operator_after == "&"

    def texts(self, variables: Mapping[str, str | None]) -> tuple[str | None, ...]:
        """Its words with these variables expanded; None for a word whose value is not known.

        Of an option with such a value, the value is `UNKNOWN`. An unquoted variable may be several words.
        """
        return tuple(text for word in self.words for text in word.split(variables))

    def every_word(self) -> Iterator[Word]:
        """Also those of its assignments and redirections."""
        yield from self.words
        yield from (value for _, value in self.assignments)
        yield from (target for _, target in self.redirections)


@dataclass(frozen=True, slots=True)
class BatchScript:
    """A batch script."""

    text: str = ""
    shebang: str = ""  # without ``#!``; empty without one
    commands: tuple[Command, ...] = ()
    comments: tuple[tuple[int, str], ...] = ()  # whole lines, with their numbers

    @property
    def interpreter(self) -> tuple[str, ...]:
        """The program that runs the script, with arguments."""
        return tuple(self.shebang.split())

    @property
    def language(self) -> str:
        """``bash`` or ``python3``; empty without a shebang."""
        words = [word for word in self.interpreter if not word.startswith("-") and "=" not in word]
        names = [word.rpartition("/")[2] for word in words]
        if names[:1] == ["env"]:
            names = names[1:]
        return names[0] if names else ""

    @property
    def is_shell(self) -> bool:
        """Whether a Bourne shell runs it: else its commands are not known."""
        return self.language in ("bash", "sh", "zsh", "ksh", "dash", "")
