"""Submit a job to Ray that resumes from a checkpoint, in a folder of this host or of the head pod.

A program that keeps a link ``latest`` names with it what it has finished. So what the link names counts where
nothing else shows that it is whole; in a pod, whose files jobmon does not read, nothing else counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.analysis.restarts import pick
from jobmon_core.domain.artifacts.checkpoints.recognize import step_of
from jobmon_core.domain.errors import JobmonError, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.job.restart.model import PickedCheckpoint
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.job.restart.ray_attempts import (
    FIELDS,
    Description,
    in_folder_of_cluster,
    with_resume,
    with_words,
    working_dir,
)
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints
from jobmon_core.observe.kubectl import ask_pod
from jobmon_core.scheduler.base import Fate
from jobmon_core.scheduler.ray.api import PodApi
from jobmon_core.scheduler.ray.submission import new_submission_id, submit_through

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.scheduler.ray.api import RayApi

_LATEST = "latest"
_KEYS = FIELDS | {"submission_id", "resume_arg", "force"}
_PATTERN = "step_*"  # as the older monitor script expects


class CheckpointLook(NamedTuple):
    """The newest complete checkpoint below a folder, or why it is not known."""

    picked: PickedCheckpoint | None = None
    problem: str = ""
    why_none: str = ""  # why the newest one does not count


def newest_complete(ctx: Context, api: RayApi | None, folder: str) -> CheckpointLook:
    """Look for the newest complete checkpoint below a folder."""
    path = os.path.abspath(folder)  # noqa: PTH100 - links stay: they are the names that the user knows
    found = find_checkpoints(path, ctx.clock.now(), pattern=_PATTERN)
    if not found.problem:
        return _look(path, list(pick.in_folder(found)))
    if not isinstance(api, PodApi) and Path(path).parent.is_dir():
        return CheckpointLook()
    return _elsewhere(api, folder, found.problem)


def checkpoint_at(ctx: Context, api: RayApi, path: str) -> CheckpointLook:
    """Look at one checkpoint; otherwise as `newest_complete`."""
    named = os.path.abspath(path)  # noqa: PTH100 - as above
    found, problem = pick.checkpoint_at(named, ctx.clock.now())
    if problem:
        return _elsewhere(api, path, problem)
    return _look(str(Path(named).parent), [found] if found else [])


def _elsewhere(api: RayApi | None, path: str, problem: str) -> CheckpointLook:
    if isinstance(api, PodApi):
        return _in_pod(api, path)
    return CheckpointLook(problem=f"this host cannot see the checkpoints: {path}: {problem}")


def _look(folder: str, found: Sequence[Checkpoint]) -> CheckpointLook:
    finished = _step_named(folder)
    for each in sorted(found, key=lambda each: (each.step or -1, each.saved_s), reverse=True):
        is_named = each.is_complete is None and each.step is not None and each.step <= finished
        if (each.is_complete or is_named) and (picked := pick.as_picked(each)):
            return CheckpointLook(picked)
        if each.is_complete is None:  # to start from scratch would replace what may be whole
            return CheckpointLook(problem=f"nothing shows whether {each.path} is complete: {each.why}")
    return CheckpointLook(why_none=f"{found[0].path} {found[0].why}" if found else "")


def _step_named(folder: str) -> int:
    try:
        step = step_of(os.readlink(f"{folder}/{_LATEST}").rstrip("/").rpartition("/")[2])  # noqa: PTH115 - texts
    except OSError:
        step = None
    if step is None:
        return -1
    return step


def _in_pod(api: PodApi, path: str) -> CheckpointLook:
    parent, _, name = path.rstrip("/").rpartition("/")
    wanted = step_of(name)
    folder = path.rstrip("/") if wanted is None else parent
    try:
        there = ask_pod(api.runner, api.pod, api.namespace, checkpoint_folder=folder).checkpoints
    except JobmonError as error:
        return CheckpointLook(problem=f"this host has no folder {folder}, and {error}")
    if there is None or not there.is_complete or there.step is None or there.step < (wanted or 0):
        why = there.problem if there and there.problem else f"the link {_LATEST!r} names no such checkpoint"
        return CheckpointLook(problem=f"this host has no folder {folder}, and in the pod {api.pod}, {why}")
    step = there.step if wanted is None else wanted
    return CheckpointLook(PickedCheckpoint(f"{folder}/{there.name if wanted is None else name}", step))


def submit_resumed(ctx: Context, api: RayApi, checkpoint_path: str, config: Mapping[str, Any]) -> str:
    """Submit a job once, also if answers get lost; return its submission id."""
    description = _checked(config)
    path = os.path.realpath(checkpoint_path) if Path(checkpoint_path).is_symlink() else checkpoint_path
    look = checkpoint_at(ctx, api, path)
    if look.picked is None and not config.get("force"):
        why = look.problem or look.why_none or f"there is none at {path}"
        raise JobmonError(
            f"no checkpoint is known to be complete: {why}; nothing was submitted. "
            'config["force"] = True submits the job all the same'
        )
    path, step = (look.picked.path, look.picked.step) if look.picked else (path, step_of(Path(path).name))
    folder = working_dir(description)
    if folder.startswith("/") and (isinstance(api, PodApi) or not Path(folder).is_dir()):
        description = in_folder_of_cluster(description)
    try:
        description = with_words(description, resume_words(config.get("resume_arg") or "", path))
    except ValueError as error:
        raise JobmonError(f'config["resume_arg"]: {error}') from error
    name = config.get("submission_id") or new_submission_id()
    description = with_resume(description, path, step)
    result = submit_through(api, {**description, "submission_id": name})
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
