"""The attempts of a lineage on Ray: their ids, and what a request says beyond that of the first attempt.

A description is the body of the request that submits a job. Source: Ray's job API, 2.9 to 2.60.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobmon_core.domain.job.job_settings import AttemptPlace
from jobmon_core.domain.job.restart.next_submission import OWN_VARIABLES, variables_of

LINEAGE_KEY = "jobmon_lineage"  # in the metadata of an attempt
NAME_KEY = "jobmon_name"  # likewise: the name by which the user follows it
NAME_KEYS = (NAME_KEY, "name", "job_name")
_PACKAGE = "gcs://_ray_pkg_"  # a folder that was sent to Ray, which deletes it with the last job that uses it
_MAX_NAME = 40
_LINEAGE = re.compile(r"[a-z0-9-]{1,60}")  # it becomes the name of a file
_ENVIRONMENT, _VARIABLES, _FOLDER = "runtime_env", "env_vars", "working_dir"
# what a request may hold, besides its id
FIELDS = frozenset(
    {
        *("entrypoint", "runtime_env", "metadata", "entrypoint_num_cpus", "entrypoint_num_gpus"),
        *("entrypoint_memory", "entrypoint_resources"),
    }
)

Description = dict[str, Any]


def lineage_id(name: str, session: str, start_s: int | None) -> str:
    """Return the id of the lineage that begins with a job: the same for each who asks."""
    readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_MAX_NAME].rstrip("-")
    digest = hashlib.sha256(f"{session}/{name}/{start_s}".encode()).hexdigest()[:8]
    if readable:
        return f"{readable}-{digest}"
    return digest


def attempt_id(lineage: str, number: int) -> str:
    """Return the submission id of an attempt."""
    return f"{lineage}-a{number}"


def attempt_number(name: str, lineage: str) -> int | None:
    """Return the number of the attempt with this submission id; None if it is none of the lineage."""
    found = re.fullmatch(re.escape(lineage) + r"-a([0-9]{1,6})", name)
    if found and _LINEAGE.fullmatch(lineage):
        return int(found[1])
    return None


def with_place(description: Mapping[str, Any], place: AttemptPlace, reason: str = "") -> Description:
    """Return a description whose job gets the variables of an attempt, and no others of an earlier one.

    ``reason`` is why the attempt before it ended.
    """
    description = _with_variables(description, variables_of(place, reason))
    return {**description, "metadata": {**(description.get("metadata") or {}), LINEAGE_KEY: place.lineage}}


def with_resume(description: Mapping[str, Any], path: str, step: int | None) -> Description:
    """Return that of a job that resumes from a checkpoint, and is part of no lineage."""
    variables = variables_of(AttemptPlace("", 0, path, step))
    return _with_variables(description, {name: variables[name] for name in variables if "RESUME" in name})


def _with_variables(description: Mapping[str, Any], variables: Mapping[str, str]) -> Description:
    environment = dict(description.get(_ENVIRONMENT) or {})
    kept = {
        name: value
        for name, value in (environment.get(_VARIABLES) or {}).items()
        if name not in OWN_VARIABLES
    }
    environment[_VARIABLES] = {**kept, **variables}
    return {**description, _ENVIRONMENT: environment}


def with_words(description: Mapping[str, Any], words: Sequence[str]) -> Description:
    """Return one whose command has further words, whatever they contain: a shell reads it."""
    return {**description, "entrypoint": " ".join((description["entrypoint"], *map(shlex.quote, words)))}


def working_dir(description: Mapping[str, Any]) -> str:
    """Return the folder in which the command runs."""
    folder = (description.get(_ENVIRONMENT) or {}).get(_FOLDER)
    if isinstance(folder, str):
        return folder
    return ""


def with_working_dir(description: Mapping[str, Any], folder: str) -> Description:
    """Return one whose command runs in another folder."""
    return {**description, _ENVIRONMENT: {**(description.get(_ENVIRONMENT) or {}), _FOLDER: folder}}


def in_folder_of_cluster(description: Mapping[str, Any]) -> Description:
    """Return one whose working folder is one of the cluster, where the command goes by itself.

    Ray itself would send a folder of this machine.
    """
    environment = {key: value for key, value in description[_ENVIRONMENT].items() if key != _FOLDER}
    command = f"cd {shlex.quote(working_dir(description))} || exit; {description['entrypoint']}"
    return {**description, _ENVIRONMENT: environment, "entrypoint": command}


def lost_package(description: Mapping[str, Any]) -> str:
    """Return the first folder that was sent to Ray for an earlier job, which Ray deletes."""
    found = (text for text in _texts(description.get(_ENVIRONMENT)) if text.startswith(_PACKAGE))
    return next(found, "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
