"""The command line of qsub, a `CommandLine`, and its ``#PBS`` directives.

Sources: ``qsub(1B)`` and ``src/cmds/qsub.c`` of OpenPBS 23.06. The command line overrides directives, option
by option; of ``-l`` and ``-W``, it overrides single resources and attributes.
"""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from getopt import GetoptError, getopt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef, pbs_id
from jobmon_core.scheduler.base import SubmissionWords

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OPTIONS = "a:A:C:c:e:J:j:k:l:L:m:M:N:o:p:P:q:r:R:S:u:v:W:fhIVXzG"  # as getopt takes them
program, never_again = "qsub", ("-r", "n")
_DIRECTIVE = re.compile(r"#PBS[ \t]+(-.*)")
_MAX_SCRIPT_BYTES = 4 << 20
_ON_STDIN = "STDIN"  # how PBS names a job whose script came from there
_SPOOLED = (
    "PBS keeps the output on the node until the job ends, so its log arrives at the end, and until then "
    "jobmon sees no progress in it; `-k oed` lets PBS write it at once"
)


class Words(NamedTuple):
    """Options as (letter, value) in their order, a flag without value; then the script and its arguments."""

    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]
    length: int  # how many words are options

    def value(self, letter: str) -> str:
        """The last one that was given; empty if none was."""
        return next((value for name, value in reversed(self.options) if name == letter), "")

    @property
    def script(self) -> str:
        """Its path; empty if there is none, e.g. with ``-- PROGRAM``."""
        first = next(iter(self.operands), "")
        return first if first not in ("-", "--") else ""

    @property
    def name(self) -> str:
        """That of the job."""
        return self.value("N") or Path(self.script).name or _ON_STDIN


def read_words(arguments: Sequence[str]) -> Words:
    """Parse a command line; SchedulerRejected for an option that qsub does not have."""
    arguments = list(arguments)
    try:
        options, operands = getopt(arguments, _OPTIONS, ["version", "help"])
    except GetoptError as error:
        raise SchedulerRejected(f"qsub: {error.msg}") from error
    length = len(arguments) - len(operands)
    if arguments[length - 1 : length] == ["--"]:  # a program follows; getopt leaves the mark out
        length -= 1
    return Words(
        tuple((name.lstrip("-"), value) for name, value in options), tuple(arguments[length:]), length
    )


def effective(arguments: Sequence[str]) -> Words:
    """A command line with the options that count: those of the lines ``#PBS`` of its script, then its own."""
    words = read_words(arguments)
    options: list[tuple[str, str]] = []
    for line in _text_of(words.script).splitlines():
        if line.strip() and not line.startswith(("#", ":")):
            break
        if match := _DIRECTIVE.match(line):
            with suppress(ValueError, SchedulerRejected):  # qsub will say so
                options += read_words(shlex.split(match[1], comments=True)).options
    return words._replace(options=(*options, *words.options))


def _text_of(path: str) -> str:
    """Empty if it cannot be read."""
    with suppress(OSError, ValueError):
        if path and os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises without permission
            return Path(path).read_bytes()[:_MAX_SCRIPT_BYTES].decode("utf-8", "surrogateescape")
    return ""


def read(arguments: Sequence[str]) -> SubmissionWords:
    """See `CommandLine.read`."""
    words = effective(arguments)
    depend = [value for name, value in words.options if name == "W" and "depend=" in value]
    return SubmissionWords(
        tuple(arguments[: words.length]),
        words.operands,
        words.script,
        words.name,
        words.value("J").partition("%")[0],
        depend[-1] if depend else "",
        (_SPOOLED,) if words.operands and "d" not in words.value("k") else (),
    )


def with_options(arguments: Sequence[str], added: Sequence[str], variables: Iterable[str] = ()) -> list[str]:
    """See `CommandLine`: PBS exports only the variables that ``-v`` names.

    A second ``-v`` replaces the first, and that of the script: so it repeats what they say.
    """
    try:
        words = effective(arguments)
    except SchedulerRejected:  # qsub will say so
        return [*added, *arguments]
    if named := tuple(variables):
        added = ("-v", ",".join(filter(None, (words.value("v"), *named))), *added)
    return [*arguments[: words.length], *added, *arguments[words.length :]]


def after(condition: str, job_id: int, *, is_array: bool) -> tuple[str, ...]:
    """See `CommandLine`. A job whose dependency can never be met is deleted by PBS."""
    return "-W", f"depend={condition}:{pbs_id(JobRef(job_id), is_array=is_array)}"


def as_sbatch(arguments: Sequence[str]) -> list[str]:
    """See `CommandLine`: the name, the array, the files of the output, the time, the parts of ``select``."""
    words = effective(arguments)
    parts = (part for name, value in words.options if name == "l" for part in value.split(","))
    resources = dict(part.partition("=")[::2] for part in parts)
    chunk = dict(part.partition("=")[::2] for part in resources.get("select", "").split(":"))
    count = next(iter(chunk), "")
    options = {
        "job-name": words.value("N"),
        "array": words.value("J"),
        "output": _log(words.value("o"), f"{words.name}.o%j"),
        "error": _log(words.value("e"), f"{words.name}.e%j"),
        "time": resources.get("walltime", ""),
        "nodes": count if count.isdigit() else "",
        "cpus-per-task": chunk.get("ncpus", "") or resources.get("ncpus", ""),
        "mem": (chunk.get("mem", "") or resources.get("mem", "")).lower().removesuffix("b").upper(),
        "gres": f"gpu:{chunk['ngpus']}" if chunk.get("ngpus", "0") != "0" else "",
    }
    given = [f"--{name}={value}" for name, value in options.items() if value]
    if words.operands[:1] == ("--",):
        return [*given, f"--wrap={shlex.join(words.operands[1:])}"]
    return [*given, *words.operands]


def _log(given: str, default: str) -> str:
    """The path without its host; PBS names a file in a folder by the job."""
    path = given.rpartition(":")[2]
    return f"{path}%j" if path.endswith("/") else path or default
