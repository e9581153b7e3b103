"""Record what is submitted, in a process of its own, see `lifecycle.recorder`."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import JobmonError, SchedulerRejected
from jobmon_core.domain.many.provenance.compare import script_path
from jobmon_core.domain.many.provenance.model import RunRecord, Script, ScriptKind
from jobmon_core.domain.many.provenance.script_references import (
    exported,
    loaded_modules,
    named_files,
    python_prefix,
    variable_digests,
    without_values,
)
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown, script_directives
from jobmon_core.observe.git import git_state
from jobmon_core.observe.submission import (
    WRAPPED,
    ReadScript,
    file_digests,
    python_environment,
    read_file,
    read_stdin,
    script_of,
)
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from jobmon_core.app.runs.submit_request import SubmitRequest
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.lifecycle.recorder import WaitForJobs

_VERSION_TIMEOUT_S = 5.0


def record_run(ctx: Context, request: SubmitRequest, wait_for_jobs: WaitForJobs) -> None:
    """Read the script at once, and all else when the job is submitted; then write the record.

    A failure is written to the log of the job's monitor.
    """
    line = _command_line(request)
    found = _read_script(request, line)
    for state_id in wait_for_jobs():
        try:
            _write_record(ctx, request, line, found, state_id)
        except Exception as error:  # noqa: BLE001 - the process has no other output
            ctx.monitor_log(state_id).write(f"what is run could not be recorded: {error!r}")


def _write_record(
    ctx: Context, request: SubmitRequest, line: _CommandLine, found: ReadScript, state_id: str
) -> None:
    if found.script.kind is not ScriptKind.COMMAND and not found.script.digest:
        with suppress(JobmonError):  # a pipe can be read only once, but the scheduler may have a copy
            found = _scheduler_copy(ctx, ctx.store.load(state_id), found.script) or found
    _save(ctx, state_id, _record(ctx, request, line, found))


def _save(ctx: Context, state_id: str, record: RunRecord) -> None:
    """Unless the user has forgotten the job meanwhile."""
    state, file = ctx.store.path(state_id), ctx.run_record(state_id)
    if state.exists():
        file.write(record)
        if not state.exists():  # `jobmon forget` removed the state file before this file was there
            file.path.unlink(missing_ok=True)


def record_watched(ctx: Context, job: WatchedJob) -> None:
    """Record the script of a job that was not submitted through jobmon, as far as its scheduler has it."""
    if script := scheduler_script(ctx, job):
        _save(ctx, job.id, RunRecord(ctx.clock.now(), script=script))


def scheduler_script(ctx: Context, job: WatchedJob) -> Script | None:
    """Return the script of a job as its scheduler keeps it, if it does."""
    found = _scheduler_copy(ctx, job, Script(ScriptKind.SCHEDULER, script_path(job, None)))
    return found.script if found else None


class _CommandLine(NamedTuple):
    folder: str
    options: dict[str, str]
    operands: list[str]  # the script, if it is a file, and its arguments


def _command_line(request: SubmitRequest) -> _CommandLine:
    folder = _current_folder()
    if request.run:
        return _CommandLine(folder, {}, ["", *request.arguments])
    try:
        options, operands = read_with_unknown(readable(request.arguments))
    except SchedulerRejected:
        return _CommandLine(folder, {}, [])
    return _CommandLine(folder, dict(options), operands)


def _read_script(request: SubmitRequest, line: _CommandLine) -> ReadScript:
    if request.run:
        return ReadScript(Script(ScriptKind.COMMAND))
    if "wrap" in line.options:
        text = WRAPPED.format(line.options["wrap"])
        return script_of(text.encode("utf-8", "surrogateescape"), ScriptKind.WRAP)
    if not line.operands:
        return read_stdin()
    found = read_file(line.operands[0], line.folder, os.environ.get("PATH", os.defpath))
    path = request.script_path or found.script.path
    return found._replace(script=replace(found.script, path=path))


def _scheduler_copy(ctx: Context, job: WatchedJob, script: Script) -> ReadScript | None:
    text = ctx.scheduler(job.backend, job.other_cluster).script_of(job.job_id)
    if not text:
        return None
    return script_of(text.encode("utf-8", "surrogateescape"), script.kind, script.path)


def _record(ctx: Context, request: SubmitRequest, line: _CommandLine, found: ReadScript) -> RunRecord:
    """Programs are started and folders are listed here."""
    runner = Runner()
    chdir = line.options.get("chdir") or script_directives(found.text).get("chdir", "")
    workdir = os.path.normpath(os.path.join(line.folder, chdir))  # noqa: PTH118 - a text, as given
    words = f"{found.text}\n{' '.join(line.operands[1:])} "
    git, problem = git_state(line.folder, runner)
    kept = request.arguments if request.run else without_values(request.arguments)
    variables = {**ctx.environment, **({} if request.run else exported(request.arguments))}
    job_variables = {**variables, "SLURM_SUBMIT_DIR": line.folder}
    text = " ".join(kept)
    is_hidden = redacted(text) != text
    return RunRecord(
        recorded_s=ctx.clock.now(),
        arguments=(redacted(text),) if is_hidden else kept,
        arguments_hidden=is_hidden,
        folder=line.folder,
        job_config=request.job_config,
        sentinel=request.sentinel,
        script=found.script,
        git=git,
        modules=loaded_modules(variables),
        python=python_environment(python_prefix(words, workdir, job_variables)),
        files=file_digests(named_files(words, workdir, job_variables)),
        environment=variable_digests(variables),
        scheduler_version=_version(runner) if request.backend == DEFAULT_BACKEND else "",
        problems=tuple(filter(None, (problem,))),
    )


def _version(runner: Runner) -> str:
    answer = runner.capture(("sbatch", "--version"), _VERSION_TIMEOUT_S)
    return answer.stdout.strip() if succeeded(answer) else ""


def _current_folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""
