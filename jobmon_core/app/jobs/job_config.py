"""Read a job configuration: a file that the user names, or ``jobmon.yaml`` beside the script."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from jobmon_core.domain.job.job_settings import JobSettings

FILE_NAME = "jobmon.yaml"
_ROOT = 0


def read_settings(
    path: Path, tell: Callable[[str], None], trusted: Collection[int] | None = None
) -> JobSettings:
    """Return the settings in a file; tell the user which of its keys are not used.

    ``trusted``: see `read_job_config`. ConfigInvalid lists every fault, or says why the file cannot be read.
    """
    from jobmon_core.observe.job_config import read_job_config  # most jobs have no such file, and users wait

    config = read_job_config(path, trusted)
    if config.note:
        tell(config.note)
    return config.settings


def settings_beside(script: str, tell: Callable[[str], None], backend: str = "") -> JobSettings | None:
    """Return what `find_settings` does, but None if the file has faults, which are told as warnings.

    A file that merely lies there stops no submission. ``backend``, if not empty, is named in the advice:
    `jobmon watch` may assume another one.
    """
    try:
        return find_settings(script, tell)
    except (ConfigInvalid, ImportError) as error:
        path = Path(script).parent / FILE_NAME
        options = f" --backend {backend}" if backend else ""
        watch = f"jobmon watch{options} JOB --job-config {shlex.quote(str(path.absolute()))}"
        tell(
            f"{error}\nThe job is watched without this file. Once it is right, `jobmon cancel JOB`, then\n"
            f"`{watch}` applies it."
        )
        return None


def find_settings(script: str, tell: Callable[[str], None]) -> JobSettings | None:
    """Return the settings in the ``jobmon.yaml`` beside a job script; None without one, or without a script.

    Anyone who may write to the folder of a script can put such a file there, and it names files whose content
    is sent. So it must belong to the user, to root, or to the owner of the script, whose words the job runs.

    Raise ConfigInvalid with every fault, or ImportError if the library that reads it cannot be loaded.
    """
    path = Path(script).parent / FILE_NAME
    if not script or not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises without permission
        return None
    others = {os.stat(script).st_uid} if os.path.isfile(script) else set()  # noqa: PTH113, PTH116 - as above
    settings = read_settings(path, tell, {os.geteuid(), _ROOT, *others})
    owner = os.stat(path).st_uid  # noqa: PTH116 - as above
    if owner not in (os.geteuid(), _ROOT):
        tell(f"{path.absolute()} applies; it belongs to user {user_name(owner)}, the owner of the script")
    return settings
