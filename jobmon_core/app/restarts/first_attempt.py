"""Submit a job with restarts: check that it can have them, and record what a restart needs."""

from __future__ import annotations

import os
import resource
import secrets
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.app.runs.recorded import replace_stdin
from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.domain.backends import is_local
from jobmon_core.domain.before.batch_script.request import Request, read_request
from jobmon_core.domain.errors import Invalid, SchedulerRejected, StorageFailed
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from jobmon_core.domain.job.restart.next_submission import NextAttempt, export_option, variables_of
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.observe.submission import read_file
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.store.lineages import RecordedSubmission
from jobmon_core.system.environment import ATTEMPT_VARIABLES, user_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobmon_core.app.runs.submit_request import SubmitRequest
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.scheduler.base import SubmissionWords

_STDIN = 0
_ID_BYTES = 8
_ON_STDIN = "sbatch"  # how Slurm names a job whose script came from there
_SOURCE = "--restart"  # in errors
_ARRAY = (
    "an array is not restarted as a whole, and its tasks not one by one: submit them as runs of a group, "
    "each with restarts of its own (`jobmon group submit`)"
)
_NO_SCRIPT = (
    "--resume-arg needs a script that takes arguments; with --wrap or a script on stdin, use the variable "
    "JOBMON_RESUME_FROM in the command"
)


def first_attempt(
    ctx: Context, request: SubmitRequest, settings: JobSettings | None, tell: Callable[[str], None]
) -> NextAttempt | None:
    """Return what makes a submission the first attempt of a lineage; None if it is to have no restarts.

    ``settings`` is what the job configuration says. Raise Invalid if such a job cannot have restarts.
    """
    settings = settings or JobSettings()
    settings = request.restart(settings) if request.restart else settings
    wanted = settings.restart or RestartSettings()
    if wanted.mode is RestartMode.OFF:
        if request.restart and wanted != RestartSettings():
            tell("the job has no restarts: the other options about them count only with --restart")
        return None
    if request.chain:
        tell("a stage of a chain has no restarts: the stages after it wait for its first attempt")
        return None
    refuse_unstoppable(request.backend, wanted)
    place = AttemptPlace(secrets.token_hex(_ID_BYTES))
    variables = variables_of(place)
    script, name, added = None, "", tuple[str, ...]()
    if line := find_backend(request.backend).command_line:
        name, script = _checked_line(line.read(request.arguments), wanted)
        added = line.never_again
    elif request.run is None:
        wanted, name, script, added = _for_sbatch(request, wanted, variables, tell)
    recorded = None
    if wanted.mode is RestartMode.ON:
        recorded = _recorded(request, script, name)
    settings = replace(settings, restart=wanted, attempt=place)
    return NextAttempt(settings, added, variables, partial(_record, ctx, settings, recorded, tell))


def _for_sbatch(
    request: SubmitRequest,
    wanted: RestartSettings,
    variables: Mapping[str, str],
    tell: Callable[[str], None],
) -> tuple[RestartSettings, str, str | None, tuple[str, ...]]:
    """Return the settings that count, the name and the text of the script, and the options to add."""
    asked, script = _checked(request, wanted)
    name = (asked.script or _ON_STDIN).rpartition("/")[2]
    if _is_requeued(asked, request) and wanted.mode is RestartMode.ON:
        tell("--requeue: Slurm itself starts the job again, so jobmon only says what it would have done")
        wanted = replace(wanted, mode=RestartMode.OBSERVE)
    added = export_option(asked.options.get("export", ""), variables)
    if wanted.mode is RestartMode.ON and not is_local(request.backend):
        added = ("--no-requeue", *added)
    return wanted, name, script, added


def refuse_unstoppable(backend: str, wanted: RestartSettings) -> None:
    """Raise Invalid if a stalled attempt is to be stopped, but jobmon cannot cancel jobs of this backend."""
    if wanted.stall_limit_s is not None and find_backend(backend).job_control is None:
        fault = f"jobmon cannot cancel jobs of the backend {backend!r}; without it, a stall is only reported"
        raise Invalid("stop_on_stall", [fault])


def _checked(submitted: SubmitRequest, wanted: RestartSettings) -> tuple[Request, str | None]:
    """The text is None if sbatch itself is to read it."""
    try:
        words = readable(submitted.arguments)
        given, operands = read_with_unknown(words)
        text = None if "wrap" in dict(given) else _script_text(operands)
        request = read_request(words, os.environ, text or "")
    except SchedulerRejected as error:
        fault = f"jobmon must know where the options of sbatch end: {error} (--name=value always works)"
        raise Invalid(_SOURCE, [fault]) from error
    if faults := list(_faults(request, wanted)):
        raise Invalid(_SOURCE, faults)
    return request, text


def _checked_line(words: SubmissionWords, wanted: RestartSettings) -> tuple[str, str | None]:
    """As `_checked`, for another submitter than sbatch: return the name of the script, and its text."""
    faults = [_ARRAY] if words.array else []
    if wanted.resume_arg and not words.script:
        faults.append(_NO_SCRIPT)
    if faults:
        raise Invalid(_SOURCE, faults)
    operands = [words.script] if words.script else list(words.operands)
    text = None if operands and not words.script else _script_text(operands)
    return words.script.rpartition("/")[2] or words.name, text


def _is_requeued(request: Request, submitted: SubmitRequest) -> bool:
    by_option = dict(read_with_unknown(readable(submitted.arguments))[0])
    for given in (by_option, request.options):  # the command line overrides the script
        if "no-requeue" in given or "requeue" in given:
            return "requeue" in given
    return "SBATCH_REQUEUE" in os.environ


def _faults(request: Request, wanted: RestartSettings) -> Iterator[str]:
    if request.array is not None:
        yield _ARRAY
    if request.is_het_job:
        yield (
            "a heterogeneous job is not restarted: submit its components as runs of a group (`jobmon group "
            "submit`)"
        )
    if wanted.resume_arg and not request.script:
        yield _NO_SCRIPT


def _script_text(operands: Sequence[str]) -> str | None:
    """Later attempts run it even if the user edits it meanwhile."""
    if not operands:
        return _stdin_text()
    found = read_file(operands[0], os.getcwd(), os.environ.get("PATH", ""))  # noqa: PTH109 - a text
    if not found.script.path:
        raise Invalid(_SOURCE, [f"{operands[0]} can be read only once: put the script into a file"])
    # else sbatch itself will say that it cannot be read
    if found.script.digest:
        return found.text
    return None


def _stdin_text() -> str:
    with os.fdopen(os.dup(_STDIN), "rb") as stream:
        content = stream.read()
    replace_stdin(content)
    return content.decode("utf-8", "surrogateescape")


def _recorded(request: SubmitRequest, script: str | None, name: str) -> RecordedSubmission:
    inherited = user_environment(os.environ)
    mask = os.umask(0o077)
    os.umask(mask)
    limits = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
    return RecordedSubmission(
        request.arguments,
        os.getcwd(),  # noqa: PTH109 - a text
        {name: value for name, value in inherited.items() if name not in ATTEMPT_VARIABLES},
        script,
        name,
        script_path=request.script_path,
        umask=mask,
        limits={name: resource.getrlimit(number)[0] for name, number in limits.items()},
        sentinel=request.sentinel,
        run=request.run,
    )


def _record(
    ctx: Context,
    settings: JobSettings,
    submission: RecordedSubmission | None,
    tell: Callable[[str], None],
    job: NewJob,
) -> None:
    place, restart = settings.attempt, settings.restart
    if place is None or restart is None:
        return
    attempt = Attempt(0, job.id, str(job.job_id), job.backend, job.cluster, job.registered_s)
    lineage = Lineage(place.lineage, job.registered_s, restart, (attempt,))
    try:
        ctx.lineages.begin(lineage, submission)
    except StorageFailed as error:
        tell(f"job {job.job_id} is submitted, but will not be restarted: {error}")
        return
    if submission:
        tell(
            f"restarts are on: if job {job.job_id} ends by no fault of its own, it goes on from its newest "
            f"complete checkpoint; `jobmon restart --off {job.job_id}` ends that, and deletes the "
            "environment that is kept for it"
        )
    else:
        tell(f"restarts are only observed: after the end of job {job.job_id}, jobmon says what it would do")
