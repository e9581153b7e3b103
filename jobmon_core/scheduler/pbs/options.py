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
never_again = ("-r", "n")
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


def directives(script: str) -> Words:
    """The options in the lines ``#PBS`` before the first command."""
    options: list[tuple[str, str]] = []
    for line in script.splitlines():
        if line.strip() and not line.startswith(("#", ":")):
            break
        if match := _DIRECTIVE.match(line):
            with suppress(ValueError, SchedulerRejected):  # qsub will say so
                options += read_words(shlex.split(match[1], comments=True)).options
    return Words(tuple(options), (), 0)


def script_text(path: str) -> str:
    """Empty if it cannot be read."""
    with suppress(OSError, ValueError):
        if path and os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises without permission
            return Path(path).read_bytes()[:_MAX_SCRIPT_BYTES].decode("utf-8", "surrogateescape")
    return ""


def effective(words: Words, script: str) -> Words:
    """Those of the script, then of the command line, which count."""
    return Words((*directives(script).options, *words.options), words.operands, words.length)


def read(arguments: Sequence[str]) -> SubmissionWords:
    """See `CommandLine.read`."""
    words = read_words(arguments)
    script = script_of(words)
    found = effective(words, script_text(script))
    depend = [value for name, value in found.options if name == "W" and "depend=" in value]
    return SubmissionWords(
        tuple(arguments[: words.length]),
        words.operands,
        script,
        found.value("N") or (Path(script).name if script else _ON_STDIN),
        found.value("J").partition("%")[0],
        depend[-1] if depend else "",
        (_SPOOLED,) if words.operands and "d" not in found.value("k") else (),
    )


def script_of(words: Words) -> str:
    """The path of the script; empty if there is none, e.g. with ``-- PROGRAM``."""
    operands = words.operands
    return operands[0] if operands and operands[0] not in ("-", "--") else ""


def with_options(arguments: Sequence[str], added: Sequence[str], variables: Iterable[str] = ()) -> list[str]:
    """See `CommandLine`: PBS exports only the variables that ``-v`` names.

    A second ``-v`` replaces the first, and that of the script: so it repeats what they say.
    """
    try:
        words = read_words(arguments)
    except SchedulerRejected:  # qsub will say so
        return [*added, *arguments]
    if named := tuple(variables):
        given = effective(words, script_text(script_of(words))).value("v")
        added = ("-v", ",".join(filter(None, (given, *named))), *added)
    return [*arguments[: words.length], *added, *arguments[words.length :]]


def after(condition: str, job_id: int, *, is_array: bool) -> tuple[str, ...]:
    """See `CommandLine`. A job whose dependency can never be met is deleted by PBS."""
    return "-W", f"depend={condition}:{pbs_id(JobRef(job_id), is_array=is_array)}"


def as_sbatch(arguments: Sequence[str]) -> list[str]:
    """See `CommandLine`: the name, the array, the files of the output, the time, the parts of ``select``."""
    words = read_words(arguments)
    found = effective(words, script_text(script_of(words)))
    resources = dict(_resources(found))
    chunk = dict(part.partition("=")[::2] for part in resources.get("select", "").split(":"))
    count = next(iter(chunk), "")
    name = found.value("N") or (Path(script_of(words)).name if script_of(words) else _ON_STDIN)
    log = {"output": _log(found.value("o"), f"{name}.o%j"), "error": _log(found.value("e"), f"{name}.e%j")}
    options = {
        "job-name": found.value("N"),
        "array": found.value("J"),
        **log,
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


def _resources(words: Words) -> Iterable[tuple[str, str]]:
    for name, value in words.options:
        if name == "l":
            yield from (part.partition("=")[::2] for part in value.split(","))
