"""What a user may ask of the local scheduler: sbatch's options, its directives and its variables.

Pure: command line, script and environment come in as values. Precedence is sbatch's own: the script is
overruled by the environment, which is overruled by the command line. Source: sbatch(1), 22.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import compact
from jobmon_core.domain.slurm.sbatch_options import LETTERS, OPTIONS, Argument, Option, Treatment
from jobmon_core.scheduler.local.option_values import array_indices, limit_s, open_mode

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
class SbatchOptions:
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
        SchedulerRejected: sbatch would not take them either, or an option has no equal here.
    """
    given, script = read_arguments(arguments)
    wrap = next((each.value for each in reversed(given) if each.name == "wrap"), None)
    if wrap is not None and script:
        raise SchedulerRejected("Script arguments not permitted with --wrap option")
    return CommandLine(given, wrap, script)


def read_options(
    directives: Iterable[Sequence[str]], environment: Mapping[str, str], command_line: CommandLine
) -> SbatchOptions:
    """Lay directives, environment and command line over each other.

    Args:
        directives: the words of each directive line of the script.
        environment: the variables of the submitting process.
        command_line: what the user typed.

    Raises:
        SchedulerRejected: one of the three asks for what can't be done, or makes no sense.
    """
    given = [
        *_from_script(directives),
        *(Given(name, environment[key]) for key, name in _VARIABLES.items() if environment.get(key)),
        *command_line.given,
    ]
    for each in given:
        if OPTIONS[each.name].treatment is Treatment.REFUSED:
            raise SchedulerRejected(f"option '--{each.name}' is not supported on a single machine")
    return _options({each.name: each.value for each in given})


def _from_script(directives: Iterable[Sequence[str]]) -> Iterable[Given]:
    for words in directives:
        given, rest = read_arguments(words)
        if rest:
            raise SchedulerRejected(f"Invalid directive found in batch script: {rest[0]}")
        yield from (each for each in given if each.name not in _COMMAND_LINE_ONLY)


def _options(values: Mapping[str, str]) -> SbatchOptions:
    return SbatchOptions(
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


@dataclass(frozen=True, slots=True)
class Given:
    """An option that was given; ``value`` is empty for one without an argument."""

    name: str
    value: str


def read_arguments(words: Sequence[str]) -> tuple[list[Given], Sequence[str]]:
    """Return the options in the order given, and the words from the first that is no option on.

    Raises:
        SchedulerRejected: an option is unknown, ambiguous, or has one argument too few or too many.
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
        raise SchedulerRejected(f"option '--{option.name}' doesn't allow an argument")
    if equals or option.argument is not Argument.REQUIRED:
        return [Given(option.name, value)], False
    if following is None:
        raise SchedulerRejected(f"option '--{option.name}' requires an argument")
    return [Given(option.name, following)], True


def _named(written: str) -> Option:
    if written in OPTIONS:
        return OPTIONS[written]
    candidates = [option for name, option in OPTIONS.items() if written and name.startswith(written)]
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise SchedulerRejected(f"unrecognized option '--{written}'")
    names = " ".join(f"'--{option.name}'" for option in candidates)
    raise SchedulerRejected(f"option '--{written}' is ambiguous; possibilities: {names}")


def _cluster(letters: str, following: str | None) -> tuple[list[Given], bool]:
    """Read letters behind one dash: flags, then at most one option with an argument."""
    given: list[Given] = []
    for position, letter in enumerate(letters, start=1):
        option = LETTERS.get(letter)
        if option is None:
            raise SchedulerRejected(f"invalid option -- '{letter}'")
        attached = letters[position:]
        if option.argument is Argument.NONE or (option.argument is Argument.OPTIONAL and not attached):
            given.append(Given(option.name, ""))
            continue
        if attached:
            return [*given, Given(option.name, attached)], False
        if following is None:
            raise SchedulerRejected(f"option requires an argument -- '{letter}'")
        return [*given, Given(option.name, following)], True
    return given, False
