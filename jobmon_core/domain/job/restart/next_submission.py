"""The command line, the variables and the tracker runs of an attempt. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.logs.progress.tracked import is_offline
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun

_CHECKPOINT = "{path}"
_ALL, _NOTHING = "ALL", ("NONE", "NIL")
_WANDB_ID, _WANDB_RESUME, _MLFLOW_ID = "WANDB_RUN_ID", "WANDB_RESUME", "MLFLOW_RUN_ID"
# in both, the colours of a terminal may stand between the words
_WANDB_RUN = re.compile(
    r"wandb\b\S*:.*(?:View run\b.*\bat:? .*?https?://\S+/runs/|saved locally in .*/run-\d{8}_\d{6}-)"
    r"(\w[\w-]{0,63})(?![\w.-])"
)
_MLFLOW_RUN = re.compile(r"View run\b.*\bat:? .*?https?://\S+/experiments/\S+/runs/([0-9a-f]{32})\b")
# the agent of a sweep gives each of its runs an id of its own
_WANDB_SWEEP = re.compile(r"wandb\b\S*:.*(?:View sweep\b|Agent Starting Run)")
_MAX_CHARS = 1000  # of such a line; in a longer one, the search would take long
_NOT_ONLINE: Final = ("offline", "dryrun", "disabled")


class NextAttempt(NamedTuple):
    """What makes a submission an attempt of a lineage."""

    settings: JobSettings
    options: tuple[str, ...]  # of sbatch; they override the user's
    variables: Mapping[str, str]  # for the job
    record: Callable[[NewJob], None]  # called with the job when it has a state file


def variables_of(place: AttemptPlace, reason: str = "") -> dict[str, str]:
    """Return the environment variables that tell an attempt what it is, and where to resume."""
    step = ""
    if place.resume_step is not None:
        step = str(place.resume_step)
    further = {
        "JOBMON_RESUME_FROM": place.resume_from,
        "JOBMON_RESUME_STEP": step,
        "JOBMON_RESTART_REASON": reason,
    }
    own = {"JOBMON_LINEAGE": place.lineage, "JOBMON_ATTEMPT": str(place.number)}
    return {**own, **{name: value for name, value in further.items() if value}}


# all that there are: an attempt has none of those of an earlier one
OWN_VARIABLES = frozenset(variables_of(AttemptPlace("-", 0, "-", 0), "-"))


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

    The path is one word whatever it contains: no shell reads it. ValueError if a quotation does not end.
    """
    words = shlex.split(resume_arg)
    if path:
        return tuple(word.replace(_CHECKPOINT, path) for word in words)
    return ()


def tracker_variables(
    lines: Iterable[str], environment: Mapping[str, str], runs: Sequence[TrackerRun] = ()
) -> dict[str, str]:
    """Return what to add to the environment of a further attempt, by the log and the ``runs`` of the first.

    A variable that the environment of the first attempt holds stays as it is, even if it is empty.
    """
    wandb, mlflow, is_sweep = _runs_in(lines)
    wandb |= _ids(runs, Tracker.WANDB)
    mlflow |= _ids(runs, Tracker.MLFLOW)
    is_kept = environment.get("WANDB_MODE", "").lower() not in _NOT_ONLINE and not is_sweep
    is_kept &= "WANDB_SWEEP_ID" not in environment and environment.get(_WANDB_RESUME) != "never"
    added: dict[str, str] = {}
    if len(wandb) == 1 and is_kept:  # of several runs, one id would make one
        added[_WANDB_ID] = wandb.pop()
    if environment.get(_WANDB_ID) or (_WANDB_ID in added and _WANDB_ID not in environment):
        added[_WANDB_RESUME] = "allow"  # else W&B starts the run with this id anew
    if len(mlflow) == 1:
        added[_MLFLOW_ID] = mlflow.pop()
    return {name: value for name, value in added.items() if name not in environment}


def _runs_in(lines: Iterable[str]) -> tuple[set[str], set[str], bool]:
    """Return the ids of the runs of W&B and of MLflow that a log names, and whether a sweep gave them."""
    wandb, mlflow, is_sweep = set[str](), set[str](), False
    for line in lines:
        if len(line) > _MAX_CHARS:
            continue
        if found := _WANDB_RUN.search(line):
            wandb.add(found[1])
        elif found := _MLFLOW_RUN.search(line):
            mlflow.add(found[1])
        is_sweep |= _WANDB_SWEEP.search(line) is not None
    return wandb, mlflow, is_sweep


def _ids(runs: Iterable[TrackerRun], tracker: Tracker) -> set[str]:
    return {run.run_id for run in runs if run.tracker is tracker and run.run_id and not is_offline(run)}
