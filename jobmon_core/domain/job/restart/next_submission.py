"""The command line, the variables and the tracker runs of an attempt. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from jobmon_core.domain.artifacts.tracker_places import Lead, leads_in_log
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.logs.progress.tracked import is_offline
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun

_CHECKPOINT = "{path}"
_ALL, _NOTHING = "ALL", ("NONE", "NIL")
_WANDB_ID, _WANDB_RESUME, _MLFLOW_ID = "WANDB_RUN_ID", "WANDB_RESUME", "MLFLOW_RUN_ID"
_WANDB_FOLDER = re.compile(r"/run-\d{8}_\d{6}-(\w[\w-]{0,63})$")
# the agent of a sweep gives each of its runs an id of its own
_WANDB_SWEEP = ("View sweep", "Agent Starting Run")
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
    lines: Sequence[str], environment: Mapping[str, str], runs: Sequence[TrackerRun] = ()
) -> dict[str, str]:
    """Return what to add to the environment of a further attempt, by the log and the ``runs`` of the first.

    A variable that the environment of the first attempt holds stays as it is, even if it is empty.
    """
    wandb, mlflow = (_ids(leads_in_log(lines), runs, each) for each in (Tracker.WANDB, Tracker.MLFLOW))
    is_sweep = any("wandb" in line and sign in line for line in lines for sign in _WANDB_SWEEP)
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


def _ids(leads: Iterable[Lead], runs: Iterable[TrackerRun], tracker: Tracker) -> set[str]:
    """Return the runs of a tracker that pages, folders and what was followed name."""
    own = [lead for lead in leads if lead.tracker is tracker]
    folders = filter(None, (_WANDB_FOLDER.search(lead.path) for lead in own))
    followed = {run.run_id for run in runs if run.tracker is tracker and not is_offline(run)}
    return ({lead.run for lead in own} | {found[1] for found in folders} | followed) - {""}
