"""The warning of a plain submission that its job cannot write its log. The user waits: it reads little."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.domain.before.batch_script.request import Request, log_files
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import Backend


def log_warning(request: Request, backend: Backend) -> str:
    """Return why Slurm cannot write a log of the job, by what this host sees, and what to do; else empty."""
    if backend.submission_queries is None:  # it makes the folder
        return ""
    start = os.path.abspath(request.options.get("chdir", ""))  # noqa: PTH100 - as Slurm: no links resolved
    logs = log_files(request, start, user_name())
    if all(os.path.isdir(os.path.dirname(log)) and not os.path.isdir(log) for log in logs):  # noqa: PTH112, PTH120 - texts
        return ""
    from jobmon_core.domain.before.batch_script.model import BatchScript
    from jobmon_core.domain.before.checks.facts import Facts
    from jobmon_core.domain.before.checks.model import Status
    from jobmon_core.domain.before.checks.rules.script import logs as judge_logs
    from jobmon_core.observe.batch_script import look_at
    from jobmon_core.system.runner import Runner

    paths = {path: look_at(path) for log in logs for path in (log, os.path.dirname(log))}  # noqa: PTH120 - a text
    version = backend.submission_queries.version(Runner())
    judged = judge_logs(Facts(request, BatchScript(), logs=logs, paths=paths, slurm_version=version))
    return f"{judged.text}. {judged.advice}" if judged.status is Status.FAIL else ""
