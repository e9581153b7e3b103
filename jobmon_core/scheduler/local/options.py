"""The options of a local submission: sbatch's options, directives and environment variables. Pure.

Precedence (environment over script, command line over both) and the syntax of values are sbatch's, but time
limits are not rounded up to minutes. Source: sbatch(1), 22.05.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet
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


def read_options(
    directives: Iterable[Sequence[str]], environment: Mapping[str, str], command_line: Iterable[GivenOption]
) -> dict[str, str]:
    """Return the value of each option in effect, by its long name; a directive is the words of its line.

    Raises:
        SchedulerRejected: an option is invalid or not supported on a single machine.
    """
    variables = [
        GivenOption(name, environment[key]) for key, name in _VARIABLES.items() if environment.get(key)
    ]
    options = dict((*_from_script(directives), *variables, *command_line))
    for name in options:
        if OPTIONS[name].treatment is Treatment.REFUSED:
            raise SchedulerRejected(f"option '--{name}' is not supported on a single machine")
    parse_after_ok(options.get("dependency", ""))
    return options


def ignored_options(options: Iterable[str]) -> list[str]:
    """Return the options that have no effect on a single machine, each as ``--name``."""
    return [f"--{name}" for name in options if OPTIONS[name].treatment is Treatment.IGNORED]


def _from_script(directives: Iterable[Sequence[str]]) -> Iterator[GivenOption]:
    for words in directives:
        given, operands = read_arguments(words)
        if operands:
            raise SchedulerRejected(f"Invalid directive found in batch script: {operands[0]}")
        yield from (option for option in given if option.name not in _COMMAND_LINE_ONLY)


_AFTER_OK = re.compile(r"afterok(?::\d{1,9})+", re.ASCII)


def parse_after_ok(text: str) -> tuple[int, ...]:
    """Return the jobs that must succeed before a job starts, of e.g. ``afterok:12:13``; blank text: none.

    If one of them does not succeed, the job is cancelled; Slurm's default is to leave it pending for ever.

    Raises:
        SchedulerRejected: the text is invalid, or another type of dependency.
    """
    if not text.strip():
        return ()
    parts = text.strip().split(",")
    if not all(_AFTER_OK.fullmatch(part) for part in parts):
        raise SchedulerRejected(
            f"option '--dependency={text}' is not supported on a single machine; only afterok:JOB is"
        )
    return tuple(int(word) for part in parts for word in part.split(":")[1:])


_SPAN = r"\d{1,7}(?:-\d{1,7}(?::0*[1-9]\d{0,6})?)?"
_ARRAY = re.compile(rf"\[?({_SPAN}(?:,{_SPAN})*),?\]?(?:%\d*)?", re.ASCII)
_MAX_TASKS = 100_000  # each task has a file
_MAX_INDEX = 4_000_000  # as in Slurm with the highest possible MaxArraySize, which is 4,000,001


def parse_array_indices(text: str) -> list[int]:
    """Parse the indices of an array such as ``1-9:2,12%4``, sorted; blank text gives an empty list.

    The throttle after ``%`` is ignored: the tasks run one at a time.

    Raises:
        SchedulerRejected: the text is invalid, or the array too large.
    """
    if not text.strip():
        return []
    match = _ARRAY.fullmatch(text.lstrip())
    indices = IndexSet.parse(match[1] if match else "")
    # IndexSet drops a reversed span such as 5-1
    if match is None or len(indices.spans) != match[1].count(",") + 1:
        raise SchedulerRejected("Invalid job array specification")
    if len(indices) > _MAX_TASKS or any(span[-1] > _MAX_INDEX for span in indices.spans):
        raise SchedulerRejected(
            f"Invalid job array specification: at most {_MAX_TASKS} tasks, the highest index {_MAX_INDEX}"
        )
    return sorted(set(indices))


def is_append_mode(text: str) -> bool:
    """Return whether ``--open-mode`` means to append; by default it does not.

    Raises:
        SchedulerRejected: the mode is neither append nor truncate.
    """
    if text.lower() not in ("", "a", "append", "t", "truncate"):
        raise SchedulerRejected("Invalid --open-mode specification")
    return text.lower().startswith("a")
