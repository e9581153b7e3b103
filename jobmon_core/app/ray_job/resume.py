"""Use case: submit a job to a Ray cluster that resumes from a checkpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobmon_core.app.ray_job.checkpoints import checkpoint_at
from jobmon_core.domain.artifacts.checkpoints.recognize import step_of
from jobmon_core.domain.errors import JobmonError, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.job.restart.ray_attempts import (
    FIELDS,
    Description,
    in_folder_of_cluster,
    with_resume,
    with_words,
    working_dir,
)
from jobmon_core.scheduler.ray.submission import Fate, new_submission_id, submit_through

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context


_KEYS = FIELDS | {"submission_id", "resume_arg", "force"}


def submit_resumed(ctx: Context, cluster: RayCluster, checkpoint_path: str, config: Mapping[str, Any]) -> str:
    """Submit a job once, also if answers get lost; return its submission id."""
    description = _checked(config)
    path = os.path.realpath(checkpoint_path) if Path(checkpoint_path).is_symlink() else checkpoint_path
    look = checkpoint_at(ctx, cluster, path)
    if look.picked is None and not config.get("force"):
        why = look.problem or look.why_none or f"there is none at {path}"
        raise JobmonError(
            f"no checkpoint is known to be complete: {why}; nothing was submitted. "
            'config["force"] = True submits the job all the same'
        )
    path, step = (look.picked.path, look.picked.step) if look.picked else (path, step_of(Path(path).name))
    folder = working_dir(description)
    if folder.startswith("/") and (cluster.is_pod or not Path(folder).is_dir()):
        description = in_folder_of_cluster(description)
    try:
        description = with_words(description, resume_words(config.get("resume_arg") or "", path))
    except ValueError as error:
        raise JobmonError(f'config["resume_arg"]: {error}') from error
    name = config.get("submission_id") or new_submission_id()
    description = with_resume(description, path, step)
    result = submit_through(cluster.api, {**description, "submission_id": name})
    if result.fate is Fate.REFUSED:
        raise SchedulerRejected(f"nothing was submitted: {result.why}")
    if result.fate is Fate.UNKNOWN:
        raise SchedulerUnavailable(f"it is not known whether Ray accepted the job {name}: {result.why}")
    return str(name)


def _checked(config: Mapping[str, Any]) -> Description:
    if unknown := sorted(set(config) - _KEYS):
        raise JobmonError(f"config: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
    entrypoint, environment = config.get("entrypoint"), config.get("runtime_env") or {}
    if not isinstance(entrypoint, str) or not entrypoint.strip():
        raise JobmonError("config: 'entrypoint' is the command of the job, e.g. 'python train.py'")
    if not isinstance(environment, dict) or not isinstance(environment.get("env_vars") or {}, dict):
        raise JobmonError("config: 'runtime_env' and its 'env_vars' are dictionaries")
    return {key: value for key, value in config.items() if key in FIELDS and value}
