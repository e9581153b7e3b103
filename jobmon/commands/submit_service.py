"""What ``jobmon submit`` says and does for all services that name their jobs by text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon.errors import UsageError, report, say
from jobmon.parser import command_parser
from jobmon_core.app.jobs.job_config import read_settings
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.context import Context
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.job_settings import JobSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon.commands.common import Options
    from jobmon.views.model import Json
    from jobmon_core.app.runs.submit_request import SubmitRequest
    from jobmon_core.domain.job.tracking.model import WatchedJob

# exit code if it is not known whether the job was accepted: EX_UNAVAILABLE of sysexits.h
_UNKNOWN = 69


class Service(NamedTuple):
    """What differs between services."""

    parser: str
    phrase: str  # before its name
    jobs: str
    read: Callable[[Options], Json]  # what is to be submitted; UsageError
    find: Callable[[Context, Options], str]  # the name of the service
    submit: Callable[..., tuple[WatchedJob, str]]


def submit_there(service: Service, request: SubmitRequest, refused: Sequence[str]) -> int:
    """Submit and watch; ``refused`` are given options that do not apply."""
    if refused:
        raise UsageError(f"{refused[0]} does not apply to {service.jobs}")
    options = command_parser(service.parser).parse_args(request.arguments)
    submitted = service.read(options)
    ctx = Context.open(os.environ)
    settings = None
    if request.job_config:
        settings = read_settings(Path(request.job_config), say)
    settings = request.restart(settings or JobSettings()) if request.restart else settings
    name = service.find(ctx, options)
    where = f"{service.phrase} {name}"
    try:
        job, problem = service.submit(ctx, name, submitted, say, settings=settings, group=request.group)
    except SchedulerRejected as error:
        return report(error, "nothing was submitted: ")
    ANSWERS.append(Watched(str(job.ref), job.id))
    print(job.name, flush=True)
    if problem:
        say(
            f"it is not known whether {where} accepted the job: {problem}. Do not submit it again: jobmon "
            f"watches for {job.name} as job {job.ref}; `jobmon show {job.ref}` will tell"
        )
        return _UNKNOWN
    say(f"watching {job.name} of {where} as job {job.ref}; `jobmon status` shows it")
    if job.attempt and job.settings and job.settings.restart:
        say(f"restarts: {job.settings.restart.mode}; `jobmon restarts {job.ref}` shows the attempts")
    return 0
