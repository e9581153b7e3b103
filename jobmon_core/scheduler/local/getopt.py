"""Options as getopt_long(3) reads them for sbatch: abbreviations, clusters, a stop at the first word.

Python's own getopt knows no optional arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SlurmRefused
from jobmon_core.scheduler.local.optiontable import LETTERS, OPTIONS, Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Given:
    """An option that was given; ``value`` is empty for one without an argument."""

    name: str
    value: str


def read_arguments(words: Sequence[str]) -> tuple[list[Given], Sequence[str]]:
    """Return the options in the order given, and the words from the first that is no option on.

    Raises:
        SlurmRefused: an option is unknown, ambiguous, or has one argument too few or too many.
    """
    given: list[Given] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return given, words[position + 1 :]
        if word == "-" or not word.startswith("-"):
            break
        following = words[position + 1] if position + 1 < len(words) else None
        found, took_next = (
            _long(word[2:], following) if word.startswith("--") else _cluster(word[1:], following)
        )
        given += found
        position += 2 if took_next else 1
    return given, words[position:]


def _long(body: str, following: str | None) -> tuple[list[Given], bool]:
    """Read ``name``, ``name=value`` or an abbreviation; return it, and whether it took the next word."""
    written, equals, value = body.partition("=")
    option = _named(written)
    if equals and option.argument is Argument.NONE:
        raise SlurmRefused(f"option '--{option.name}' doesn't allow an argument")
    if equals or option.argument is not Argument.REQUIRED:
        return [Given(option.name, value)], False
    if following is None:
        raise SlurmRefused(f"option '--{option.name}' requires an argument")
    return [Given(option.name, following)], True


def _named(written: str) -> Option:
    if written in OPTIONS:
        return OPTIONS[written]
    candidates = [option for name, option in OPTIONS.items() if written and name.startswith(written)]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise SlurmRefused(f"unrecognized option '--{written}'")
    names = " ".join(f"'--{option.name}'" for option in candidates)
    raise SlurmRefused(f"option '--{written}' is ambiguous; possibilities: {names}")


def _cluster(letters: str, following: str | None) -> tuple[list[Given], bool]:
    """Read letters behind one dash: flags, then at most one option with an argument."""
    given: list[Given] = []
    for position, letter in enumerate(letters, start=1):
        option = LETTERS.get(letter)
        if option is None:
            raise SlurmRefused(f"invalid option -- '{letter}'")
        attached = letters[position:]
        if option.argument is Argument.NONE or (option.argument is Argument.OPTIONAL and not attached):
            given.append(Given(option.name, ""))
            continue
        if attached:
            return [*given, Given(option.name, attached)], False
        if following is None:
            raise SlurmRefused(f"option requires an argument -- '{letter}'")
        return [*given, Given(option.name, following)], True
    return given, False
