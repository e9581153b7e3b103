"""The ``#SBATCH`` lines of a batch script, parsed by Slurm's rules.

Used only if Slurm does not tell: environment, command line and plugins override the script.
Source: ``_opt_batch_script()`` and ``get_argument()`` of Slurm's ``sbatch/opt.c``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.sbatch_options import read_arguments

_PREFIXES = ("#SBATCH", "#SLURM")
_NEXT_COMPONENT = ("hetjob", "packjob")  # the lines behind it describe the next component of a het job


def script_directives(script_text: str) -> dict[str, str]:
    """Return the options of a script by their long names, of a het job those of its first component.

    The last one wins; values are unexpanded. Never raises: a line that sbatch would reject is ignored.
    """
    directives: dict[str, str] = {}
    for words in directive_words(script_text):
        if words and words[0] in _NEXT_COMPONENT:
            break
        with suppress(SchedulerRejected):
            directives.update(read_arguments(words)[0])
    return directives


def directive_words(script_text: str) -> Iterator[list[str]]:
    """Yield the words of each ``#SBATCH`` line, split as Slurm does."""
    for line in _directive_lines(script_text):
        yield list(_words(line))


def _directive_lines(script_text: str) -> Iterator[str]:
    """Yield the text behind each ``#SBATCH``, up to the first line that is neither comment nor blank."""
    for line in script_text.split("\n"):
        prefix = next((known for known in _PREFIXES if line.startswith(known)), None)
        if prefix is not None:
            yield line[len(prefix) :]
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def _words(line: str) -> Iterator[str]:
    """Split as Slurm does, with quotes and backslashes; an unquoted ``#`` always ends the line."""
    position = 0
    while position < len(line):
        if line[position].isspace():
            position += 1
            continue
        word, position = _word(line, position)
        if word is None:
            return
        yield word


def _word(line: str, start: int) -> tuple[str | None, int]:
    """Return the word at ``start`` and its end; None at a comment or an unmatched quote."""
    chars: list[str] = []
    quote = ""
    escaped = False
    for position in range(start, len(line)):
        char = line[position]
        if not quote and char.isspace():  # ends the word even after a backslash
            return "".join(chars), position
        if escaped:
            chars.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        elif not quote and char == "#":
            return ("".join(chars) if position > start else None), len(line)
        else:
            chars.append(char)
    return (None if quote else "".join(chars)), len(line)
