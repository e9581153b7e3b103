"""The ``#SBATCH`` lines of a batch script, read by Slurm's own rules.

Only for when Slurm itself does not tell: environment, command line and plugins overrule a script.
Source: ``_opt_batch_script()`` and ``get_argument()`` of Slurm's ``sbatch/opt.c``; ``getopt_long(3)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

_PREFIXES = ("#SBATCH", "#SLURM")
_NEXT_COMPONENT = ("hetjob", "packjob")  # what follows belongs to the next part of a het job

_SHORT = {"o": "output", "e": "error", "D": "chdir", "J": "job_name", "a": "array", "t": "time"}
_SHORT_WITH_VALUE = frozenset("aAbBcCdDeFGiJLmMnNopqStwx")
_LONG = {
    "output": "output",
    "error": "error",
    "chdir": "chdir",
    "job-name": "job_name",
    "array": "array",
    "time": "time",
    "comment": "comment",
    "open-mode": "open_mode",
}
# sbatch's other long options that begin like those above, as an abbreviation must be unique
# fmt: off
_RIVALS = frozenset((
    "account", "acctg-freq", "overcommit", "oversubscribe", "exclude", "exclusive", "export",
    "export-file", "extra", "extra-node-info", "cluster-constraint", "clusters",
    "consolidate-segments", "constraint", "container", "container-id", "contiguous", "core-spec",
    "cores-per-socket", "cpu-freq", "cpus-per-gpu", "cpus-per-task", "test-only", "thread-spec",
    "threads-per-core", "time-min", "tmp", "tres-bind", "tres-per-task",
))
# fmt: on


@dataclass(frozen=True, slots=True)
class Directives:
    """What a script asks for; None where it does not say. Values are as written, unexpanded."""

    output: str | None = None
    error: str | None = None
    chdir: str | None = None
    job_name: str | None = None
    array: str | None = None
    time: str | None = None
    comment: str | None = None
    open_mode: str | None = None


def script_directives(script_text: str) -> Directives:
    """Read the directives of a script (of a het job: of its first component); the last one wins.

    Total: where sbatch would refuse the script, such as for an unmatched quote, that line says nothing more.
    """
    found = Directives()
    for words in directive_words(script_text):
        if words and words[0] in _NEXT_COMPONENT:
            break
        for name, value in _options(words):
            found = replace(found, **{name: value})
    return found


def directive_words(script_text: str) -> Iterator[list[str]]:
    """Yield the words of each ``#SBATCH`` line, split as Slurm does."""
    for line in _directive_lines(script_text):
        yield list(_words(line))


def _directive_lines(script_text: str) -> Iterator[str]:
    """Yield what follows each ``#SBATCH``, up to the first line that is neither comment nor blank."""
    for line in script_text.split("\n"):
        prefix = next((known for known in _PREFIXES if line.startswith(known)), None)
        if prefix is not None:
            yield line[len(prefix) :]
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def _words(line: str) -> Iterator[str]:
    """Split as Slurm does: quotes and backslashes, and an unquoted ``#`` ends the line even mid-word."""
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
    """Read the word at ``start``; None and the end of the line where a comment or a fault ends it."""
    kept: list[str] = []
    quote = ""
    escaped = False
    for position in range(start, len(line)):
        char = line[position]
        if not quote and char.isspace():  # ends the word even after a backslash
            return "".join(kept), position
        if escaped:
            kept.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        elif not quote and char == "#":
            return ("".join(kept) if position > start else None), len(line)
        else:
            kept.append(char)
    return (None if quote else "".join(kept)), len(line)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (field, value) for the options that we know, parsed as getopt_long does."""
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
    """Return (field, value, whether the value is the next word) of ``--name=value``."""
    written, equals, value = body.partition("=")
    candidates = [known for known in (*_LONG, *_RIVALS) if known.startswith(written)]
    exact = written if written in candidates else None
    option = exact or (candidates[0] if len(candidates) == 1 and written else None)
    name = _LONG.get(option or "")
    return name, (value if equals else None), name is not None and not equals


def _short(word: str) -> tuple[str | None, str | None, bool]:
    """Return likewise for a cluster such as ``-Hoout.log``: flags, then at most one option with a value."""
    if not word.startswith("-"):
        return None, None, False
    for position, letter in enumerate(word[1:], start=2):
        if letter in _SHORT_WITH_VALUE:
            value = word[position:]
            return _SHORT.get(letter), value or None, not value
    return None, None, False
