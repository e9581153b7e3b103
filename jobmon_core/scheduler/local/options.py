"""What a user may ask of the local scheduler: sbatch's options, its directives and its variables.

Pure: command line, script and environment come in as values. Precedence is sbatch's own: the script is
overruled by the environment, which is overruled by the command line. Source: sbatch(1), 22.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SlurmRefused
from jobmon_core.domain.jobref import compact
from jobmon_core.scheduler.local.getopt import Given, read_arguments
from jobmon_core.scheduler.local.optiontable import OPTIONS, Treatment
from jobmon_core.scheduler.local.values import array_indices, limit_s, open_mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_VARIABLES = {
    "SBATCH_ARRAY_INX": "array",
    "SBATCH_ERROR": "error",
    "SBATCH_EXPORT": "export",
    "SBATCH_INPUT": "input",
    "SBATCH_JOB_NAME": "job-name",
    "SBATCH_OPEN_MODE": "open-mode",
    "SBATCH_OUTPUT": "output",
    "SBATCH_SIGNAL": "signal",
    "SBATCH_TIMELIMIT": "time",
    "SBATCH_WAIT": "wait",
}
_COMMAND_LINE_ONLY = ("quiet", "wrap")  # sbatch overlooks them in a script


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a submission asks for; empty where it does not say. Paths are patterns, as written."""

    job_name: str = ""
    output: str = ""
    error: str = ""
    input: str = ""
    chdir: str = ""
    export: str = ""
    append: bool = False
    limit_s: int | None = None
    array: str = ""  # the indices, as short as can be; empty for a job that is no array
    parsable: bool = False
    quiet: bool = False
    ignored: tuple[str, ...] = ()  # options without a meaning on a single machine


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a submission, before its script is read."""

    given: Sequence[Given]
    wrap: str | None
    script: Sequence[str]  # the script's path and its arguments; empty where it comes from elsewhere


def read_command_line(arguments: Sequence[str]) -> CommandLine:
    """Read the arguments as sbatch does: options, then the script, then the script's own arguments.

    Raises:
        SlurmRefused: sbatch would not take them either, or an option has no equal here.
    """
    given, script = read_arguments(arguments)
    wrap = next((each.value for each in reversed(given) if each.name == "wrap"), None)
    if wrap is not None and script:
        raise SlurmRefused("Script arguments not permitted with --wrap option")
    return CommandLine(given, wrap, script)


def read_wishes(
    directives: Iterable[Sequence[str]], environment: Mapping[str, str], command_line: CommandLine
) -> Wishes:
    """Lay directives, environment and command line over each other.

    Args:
        directives: the words of each directive line of the script.
        environment: the variables of the submitting process.
        command_line: what the user typed.

    Raises:
        SlurmRefused: one of the three asks for what can't be done, or makes no sense.
    """
    given = [
        *_from_script(directives),
        *(Given(name, environment[key]) for key, name in _VARIABLES.items() if environment.get(key)),
        *command_line.given,
    ]
    for each in given:
        if OPTIONS[each.name].treatment is Treatment.REFUSED:
            raise SlurmRefused(f"option '--{each.name}' is not supported on a single machine")
    return _wishes({each.name: each.value for each in given})


def _from_script(directives: Iterable[Sequence[str]]) -> Iterable[Given]:
    for words in directives:
        given, rest = read_arguments(words)
        if rest:
            raise SlurmRefused(f"Invalid directive found in batch script: {rest[0]}")
        yield from (each for each in given if each.name not in _COMMAND_LINE_ONLY)


def _wishes(values: Mapping[str, str]) -> Wishes:
    return Wishes(
        job_name=values.get("job-name", ""),
        output=values.get("output", ""),
        error=values.get("error", ""),
        input=values.get("input", ""),
        chdir=values.get("chdir", ""),
        export=values.get("export", ""),
        append=open_mode(values.get("open-mode", "")),
        limit_s=limit_s(values["time"]) if "time" in values else None,
        array=compact(array_indices(values.get("array", ""))),
        parsable="parsable" in values,
        quiet="quiet" in values,
        ignored=tuple(f"--{name}" for name in values if OPTIONS[name].treatment is Treatment.IGNORED),
    )
