"""The sbatch options whose values may be secrets: a record keeps only the names of what they export."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.redaction import HIDDEN
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown

EXPORT, COMMENT = "export", "comment"
_OPTION = re.compile(r"(--(?:(?P<export>expo?r?t?)|comm?e?n?t?))(?:=(?P<value>.*))?", re.DOTALL)
_VALUE = r"(?:'[^']*(?:'|$)|\"[^\"]*(?:\"|$)|\\.?|[^,'\"\\])*"  # a comma in quotes belongs to the value
_EXPORTED = re.compile(rf"(?:^|(?<=,))([^,=]*)=({_VALUE})", re.DOTALL)


class Given(NamedTuple):
    """An option with a value that may be secret, as words of a command line."""

    name: str  # in full
    first: int  # the position of its first word on the command line, from 0
    last: int  # the position of the word that has its value
    option: str  # as written, without the value
    value: str


def without_values(words: Sequence[str]) -> tuple[str, ...]:
    """Return a command line of sbatch without the values that it exports, and without its comment."""
    hidden = list(words)
    for given in _given(words):
        value = HIDDEN
        if given.name == EXPORT:
            value = _EXPORTED.sub(lambda match: f"{match[1]}={HIDDEN}", given.value)
        hidden[given.last] = value if given.last > given.first else f"{given.option}={value}"
    return tuple(hidden)


def exported(words: Sequence[str]) -> dict[str, str]:
    """Return the variables that ``--export`` sets on a command line of sbatch."""
    values = [given.value for given in _given(words) if given.name == EXPORT]
    return {match[1].strip(): match[2] for value in values for match in _EXPORTED.finditer(value)}


def without_hidden(options: Sequence[str]) -> tuple[list[str], set[str]]:
    """Return recorded options without those whose values were hidden, and the names of these."""
    given = [each for each in _given([*options, ""]) if HIDDEN in each.value]
    lost = {number for each in given for number in range(each.first, each.last + 1)}
    return [word for n, word in enumerate(options) if n not in lost], {each.name for each in given}


def _given(words: Sequence[str]) -> Iterator[Given]:
    try:
        end = len(words) - len(read_with_unknown(words)[1])
    except SchedulerRejected:  # nobody knows where the script is
        end = len(words)
    number = 0
    while number < end:
        found = _OPTION.fullmatch(words[number])
        first = number
        if found:
            name = EXPORT if found["export"] else COMMENT
            if found["value"] is not None:
                yield Given(name, first, first, found[1], found["value"])
            elif number + 1 < end:
                number += 1
                yield Given(name, first, number, found[1], words[number])
        number += 1
