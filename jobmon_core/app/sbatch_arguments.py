"""Make a command line of sbatch readable, if it has options that jobmon does not know."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.sbatch_options import UnknownOption, read_with_unknown, spelled_out
from jobmon_core.domain.slurm.sbatch_options import script_of as sbatch_script_of
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TIMEOUT_S = 5.0  # it asks no daemon


def readable(arguments: Sequence[str], runner: Runner | None = None) -> Sequence[str]:
    """Return the arguments as `read_with_unknown` can read them; the sbatch of this host is asked if needed.

    They are for reading only: sbatch itself gets them as the user wrote them.
    """
    try:
        read_with_unknown(arguments)
    except SchedulerRejected as error:
        if isinstance(error, UnknownOption):
            answer = (runner or Runner()).capture(("sbatch", "--help"), _TIMEOUT_S)
            return spelled_out(arguments, answer.stdout if isinstance(answer, Ran) else "")
    return arguments  # of other faults, their reader learns


def split(words: Sequence[str], backend: str = DEFAULT_BACKEND) -> tuple[list[str], list[str]]:
    """Return the options as given, and the operands: the script and its arguments."""
    if line := find_backend(backend).command_line:
        found = line.read(words)
        return list(found.options), list(found.operands)
    operands = read_with_unknown(readable(words))[1]
    options = list(words[: len(words) - len(operands)])
    return options[:-1] if options[-1:] == ["--"] else options, operands


def script_of(words: Sequence[str], backend: str) -> str:
    """Return the path of the script; empty without one."""
    if line := find_backend(backend).command_line:
        with suppress(SchedulerRejected):  # the scheduler will say so
            return line.read(words).script
        return ""
    return sbatch_script_of(readable(words))


def with_options(
    words: Sequence[str],
    added: Sequence[str],
    backend: str = DEFAULT_BACKEND,
    variables: Iterable[str] = (),
) -> list[str]:
    """Return the arguments with more options, which override the user's if those can be read.

    ``variables`` are those of this environment that the job must get; sbatch has an option for them.
    """
    if line := find_backend(backend).command_line:
        return line.with_options(words, added, variables)
    if not added:
        return list(words)
    try:
        options, operands = split(words)
    except SchedulerRejected:
        return [*added, *words]
    return [*options, *added, *operands]
