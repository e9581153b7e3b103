"""Use case: read a job configuration: a file that the user names, or ``jobmon.yaml`` beside the script."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job_settings import JobSettings

FILE_NAME = "jobmon.yaml"


def read_settings(path: Path, tell: Callable[[str], None]) -> JobSettings:
    """Return the settings in a job configuration; tell the user which of its keys are not used.

    Raises:
        ConfigInvalid: lists every fault, or says why the file cannot be read.
    """
    from jobmon_core.observe.job_config import read_job_config  # most jobs have no such file, and users wait

    config = read_job_config(path)
    if config.note:
        tell(config.note)
    return config.settings


def settings_beside(script: str, tell: Callable[[str], None], backend: str = "") -> JobSettings | None:
    """Return the settings in the ``jobmon.yaml`` beside a job script; None without one, or without a script.

    Also None if it has faults, which are only told as warnings: a file that merely lies there stops no
    submission. ``backend``, if not empty, is named in the advice: `jobmon watch` may assume another one.
    """
    path = Path(script).parent / FILE_NAME
    if not script or not os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises without permission
        return None
    try:
        return read_settings(path, tell)
    except (ConfigInvalid, ImportError) as error:
        options = f" --backend {backend}" if backend else ""
        watch = f"jobmon watch{options} JOB --job-config {shlex.quote(str(path.absolute()))}"
        tell(
            f"{error}\nThe job is watched without this file. Once it is right, `jobmon cancel JOB`, then\n"
            f"`{watch}` applies it."
        )
        return None
