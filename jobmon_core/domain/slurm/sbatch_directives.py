"""The ``#SBATCH`` lines of a batch script, parsed by Slurm's rules.

Used only if Slurm does not tell: environment, command line and plugins override the script.
Source: ``_opt_batch_script()`` and ``get_argument()`` of Slurm's ``sbatch/opt.c``; ``getopt_long(3)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

from jobmon_core.domain.slurm.sbatch_options import LETTERS, OPTIONS, Argument

_PREFIXES = ("#SBATCH", "#SLURM")
_NEXT_COMPONENT = ("hetjob", "packjob")  # the lines behind it describe the next component of a het job


@dataclass(frozen=True, slots=True)
class Directives:
    """The options of a script; None if not given. Values are unexpanded."""

    output: str | None = None
    error: str | None = None
    chdir: str | None = None
    job_name: str | None = None
    array: str | None = None
    time: str | None = None
    comment: str | None = None
    open_mode: str | None = None


_FIELDS = {field.name.replace("_", "-"): field.name for field in fields(Directives)}  # by option name


def script_directives(script_text: str) -> Directives:
    """Parse the directives of a script, of a het job those of its first component; the last one wins.

    Never raises: the rest of a line that sbatch would reject, e.g. for an unmatched quote, is ignored.
    """
    directives = Directives()
    for words in directive_words(script_text):
        if words and words[0] in _NEXT_COMPONENT:
            break
        for name, value in _options(words):
            directives = replace(directives, **{name: value})
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


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (field, value) of the options in `Directives`, parsed as getopt_long does."""
    position = 0
    while position < len(words):
        word = words[position]
        following = words[position + 1] if position + 1 < len(words) else None
        name, value, wants_next = _long(word[2:]) if word.startswith("--") else _short(word)
        if wants_next and following is not None:
            value = following
            position += 1
        if name is not None and value is not None:
            yield name, value
        position += 1


def _long(body: str) -> tuple[str | None, str | None, bool]:
    """Return (field, value, whether the value is the next word) of ``--name=value``, or an abbreviation."""
    written, equals, value = body.partition("=")
    candidates = [name for name in OPTIONS if written and name.startswith(written)]
    option = written if written in OPTIONS else candidates[0] if len(candidates) == 1 else ""
    field = _FIELDS.get(option)
    return field, (value if equals else None), field is not None and not equals


def _short(word: str) -> tuple[str | None, str | None, bool]:
    """Return likewise for short options such as ``-Hoout.log``: flags, then at most one with a value."""
    if not word.startswith("-"):
        return None, None, False
    for position, letter in enumerate(word[1:], start=2):
        option = LETTERS.get(letter)
        if option and option.argument is not Argument.NONE:
            value = word[position:]
            takes_next = not value and option.argument is Argument.REQUIRED
            return _FIELDS.get(option.name), value or None, takes_next
    return None, None, False
