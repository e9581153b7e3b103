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
    """Yield the words of each ``#SBATCH`` line up to the first command, split as Slurm does."""
    for line in script_text.split("\n"):
        prefix = next((known for known in _PREFIXES if line.startswith(known)), None)
        if prefix is not None:
            yield list(_words(line.removeprefix(prefix)))
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def _words(line: str) -> Iterator[str]:
    """Split at white space; an unquoted ``#`` always ends the line, and an unmatched quote drops its word."""
    word: str | None = None
    quote = ""
    escaped = False
    for char in f"{line} ":
        if not quote and char.isspace():  # ends the word even after a backslash
            if word is not None:
                yield word
            word, escaped = None, False
            continue
        if not quote and not escaped and char == "#":
            break
        word = word or ""
        if escaped:
            word += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        else:
            word += char
    if word is not None and not quote:
        yield word
