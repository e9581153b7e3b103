"""The runs of experiment trackers: a further attempt continues those of the first, if that is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

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


def tracker_variables(lines: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to the environment of a further attempt.

    A variable that the environment of the first attempt holds stays as it is, even if it is empty.

    Args:
        lines: of the log of the first attempt, as W&B and MLflow write them about their runs.
        environment: of the first attempt.
    """
    wandb, mlflow, has_sweep = set[str](), set[str](), "WANDB_SWEEP_ID" in environment
    for line in (line for line in lines if len(line) <= _MAX_CHARS):
        if found := _WANDB_RUN.search(line):
            wandb.add(found[1])
        elif found := _MLFLOW_RUN.search(line):
            mlflow.add(found[1])
        has_sweep = has_sweep or bool(_WANDB_SWEEP.search(line))
    added = {}
    is_online = environment.get("WANDB_MODE", "").lower() not in _NOT_ONLINE
    goes_on = is_online and not has_sweep and environment.get(_WANDB_RESUME) != "never"
    if len(wandb) == 1 and goes_on:  # of several runs, one id would make one
        added[_WANDB_ID] = wandb.pop()
    if environment.get(_WANDB_ID) or (_WANDB_ID in added and _WANDB_ID not in environment):
        added[_WANDB_RESUME] = "allow"  # else W&B starts the run with this id anew
    if len(mlflow) == 1:
        added[_MLFLOW_ID] = mlflow.pop()
    return {name: value for name, value in added.items() if name not in environment}
