"""The options of a local submission: sbatch's options, directives and environment variables. Pure.

Precedence is sbatch's: environment over script, command line over environment. Values are read as sbatch and
slurmctld read them. Source: sbatch(1), 22.05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.sbatch_options import OPTIONS, GivenOption, Treatment, read_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
_COMMAND_LINE_ONLY = ("quiet", "wrap")  # sbatch ignores them in a script


@dataclass(frozen=True, slots=True)
class SbatchOptions:
    """The options of a submission; empty if not given. Paths are unexpanded patterns."""

    job_name: str = ""
    output: str = ""
    error: str = ""
    input: str = ""
    chdir: str = ""
    export: str = ""
    append: bool = False
    limit_s: int | None = None
    array: str = ""  # the indices in their shortest form; empty if the job is not an array
    parsable: bool = False
    quiet: bool = False
    ignored: tuple[str, ...] = ()  # options without a meaning on a single machine


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The arguments of a submission."""

    given: Sequence[GivenOption]
    wrap: str | None
    script: Sequence[str]  # the script's path and its arguments; empty if it comes from elsewhere


def read_command_line(arguments: Sequence[str]) -> CommandLine:
    """Parse the arguments as sbatch does: options, then the script, then the script's own arguments.

    Raises:
        SchedulerRejected: sbatch would reject them too.
    """
    given, script = read_arguments(arguments)
    wrap = next((option.value for option in reversed(given) if option.name == "wrap"), None)
    if wrap is not None and script:
        raise SchedulerRejected("Script arguments not permitted with --wrap option")
    return CommandLine(given, wrap, script)


def read_options(
    directives: Iterable[Sequence[str]], environment: Mapping[str, str], command_line: CommandLine
) -> SbatchOptions:
    """Combine directives, environment and command line.

    Args:
        directives: the words of each directive line of the script.
        environment: the variables of the submitting process.
        command_line: what the user typed.

    Raises:
        SchedulerRejected: an option is invalid or not supported on a single machine.
    """
    given = [
        *_from_script(directives),
        *(GivenOption(name, environment[key]) for key, name in _VARIABLES.items() if environment.get(key)),
        *command_line.given,
    ]
    for option in given:
        if OPTIONS[option.name].treatment is Treatment.REFUSED:
            raise SchedulerRejected(f"option '--{option.name}' is not supported on a single machine")
    values = dict(given)
    return SbatchOptions(
        job_name=values.get("job-name", ""),
        output=values.get("output", ""),
        error=values.get("error", ""),
        input=values.get("input", ""),
        chdir=values.get("chdir", ""),
        export=values.get("export", ""),
        append=_open_mode(values.get("open-mode", "")),
        limit_s=limit_s(values["time"]) if "time" in values else None,
        array=compact(array_indices(values.get("array", ""))),
        parsable="parsable" in values,
        quiet="quiet" in values,
        ignored=tuple(f"--{name}" for name in values if OPTIONS[name].treatment is Treatment.IGNORED),
    )


def _from_script(directives: Iterable[Sequence[str]]) -> Iterator[GivenOption]:
    for words in directives:
        given, operands = read_arguments(words)
        if operands:
            raise SchedulerRejected(f"Invalid directive found in batch script: {operands[0]}")
        yield from (option for option in given if option.name not in _COMMAND_LINE_ONLY)


_DAY_S = 86_400
_HOUR_S = 3_600
_MINUTE_S = 60
_NO_LIMIT = ("INFINITE", "UNLIMITED", "-1")
_CLOCK_FIELDS = 3  # hours, minutes, seconds
_TIME = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}(?::\d{1,9}){0,2})?", re.ASCII)


def limit_s(text: str) -> int | None:
    """Parse a time limit in any of Slurm's forms, in seconds; None for no limit.

    With days: ``D-``, ``D-H``, ``D-H:M`` or ``D-H:M:S``; without: ``M``, ``M:S`` or ``H:M:S``. Slurm rounds
    up to whole minutes; here ``0:02`` is two seconds.

    Raises:
        SchedulerRejected: the text is not a time limit.
    """
    if text.upper() in _NO_LIMIT:
        return None
    match = _TIME.fullmatch(text)
    if match is None or not text:
        raise SchedulerRejected("Invalid --time specification")
    days, clock = match.groups()
    numbers = [int(number) for number in clock.split(":")] if clock else []
    if days is None and len(numbers) < _CLOCK_FIELDS:
        numbers.insert(0, 0)  # without days the first number is minutes
    hours, minutes, seconds = (*numbers, 0, 0, 0)[:3]
    return (int(days or 0) * _DAY_S + hours * _HOUR_S + minutes * _MINUTE_S + seconds) or None


_SPAN = r"\d{1,7}(?:-\d{1,7}(?::\d{1,7})?)?"
_ARRAY = re.compile(rf"\[?({_SPAN}(?:,{_SPAN})*),?\]?(?:%\d*)?", re.ASCII)
_MAX_TASKS = 100_000  # each task has a file
_MAX_INDEX = 4_000_000  # slurmctld's own highest MaxArraySize


def array_indices(text: str) -> list[int]:
    """Parse the indices of an array such as ``1-9:2,12%4``; an empty text is not an array.

    The throttle behind ``%`` is ignored: the tasks run one at a time.

    Raises:
        SchedulerRejected: the text is invalid, or the array too large.
    """
    if not text.strip():
        return []
    match = _ARRAY.fullmatch(text.lstrip())
    if match is None or any(_is_empty_span(span) for span in match[1].split(",")):
        raise SchedulerRejected("Invalid job array specification")
    indices = IndexSet.parse(match[1])
    if len(indices) > _MAX_TASKS or any(span[-1] > _MAX_INDEX for span in indices.spans):
        raise SchedulerRejected(
            f"Invalid job array specification: at most {_MAX_TASKS} tasks, the highest index {_MAX_INDEX}"
        )
    return sorted(set(indices))


def _is_empty_span(span: str) -> bool:
    """Whether a span runs backwards or has a step of 0."""
    bounds, colon, step = span.partition(":")
    first, _, last = bounds.partition("-")
    return int(last or first) < int(first) or (bool(colon) and int(step) == 0)


def _open_mode(text: str) -> bool:
    """Return whether ``--open-mode`` means to append.

    Raises:
        SchedulerRejected: the mode is neither append nor truncate.
    """
    if text.lower() not in ("", "a", "append", "t", "truncate"):
        raise SchedulerRejected("Invalid --open-mode specification")
    return text.lower().startswith("a")
