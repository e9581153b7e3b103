"""The command line and the variables of an attempt. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.settings import AttemptPlace
from jobmon_core.domain.job.tracking.new_job import NewJob

_CHECKPOINT = "{path}"
_ALL, _NOTHING = "ALL", ("NONE", "NIL")


class NextAttempt(NamedTuple):
    """What makes a submission an attempt of a lineage."""

    settings: JobSettings
    options: tuple[str, ...]  # of sbatch; they override the user's
    variables: Mapping[str, str]  # for the job
    record: Callable[[NewJob], None]  # called with the job when it has a state file


def variables_of(place: AttemptPlace, reason: str = "") -> dict[str, str]:
    """Return the environment variables that tell an attempt what it is, and where to resume.

    ``reason`` is why the attempt before it ended; the first attempt has none.
    """
    step = "" if place.resume_step is None else str(place.resume_step)
    further = {
        "JOBMON_RESUME_FROM": place.resume_from,
        "JOBMON_RESUME_STEP": step,
        "JOBMON_RESTART_REASON": reason,
    }
    own = {"JOBMON_LINEAGE": place.lineage, "JOBMON_ATTEMPT": str(place.number)}
    return {**own, **{name: value for name, value in further.items() if value}}


def export_option(given: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the option by which sbatch exports the variables, too; ``given`` is the user's ``--export``.

    Names alone are exported with their values, which may contain commas.
    """
    entries = given.split(",")
    if not given or any(entry.upper() == _ALL for entry in entries):
        return ()
    kept = () if given.upper() in _NOTHING else (given,)
    return (f"--export={','.join((*kept, *variables))}",)


def resume_words(resume_arg: str, path: str) -> tuple[str, ...]:
    """Return the words that tell a script where to resume; none without a checkpoint.

    The path is one word whatever it contains: no shell reads it.

    Raises:
        ValueError: a quotation in ``resume_arg`` does not end.
    """
    words = shlex.split(resume_arg)
    return tuple(word.replace(_CHECKPOINT, path) for word in words) if path else ()
