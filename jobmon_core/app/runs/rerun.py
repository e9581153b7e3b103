"""Submit again what a job ran: the recorded script, options and arguments, in its folder."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import may_still_run
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.app.sbatch_arguments import readable, split
from jobmon_core.domain.backends import BY_TEXT, is_ray, submit_words, url_of
from jobmon_core.domain.errors import JobmonError, SchedulerRejected
from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.provenance.compare import changed_lines, script_path, unified
from jobmon_core.domain.many.provenance.model import MAX_SCRIPT_BYTES, RunRecord, Script, ScriptKind, digest
from jobmon_core.domain.many.provenance.script_references import (
    COMMENT,
    EXPORT,
    without_hidden,
    without_values,
)
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.observe.git import git_state
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.submission import changed_files
from jobmon_core.store.lineages import RecordedSubmission
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_MAX_DIFF_LINES = 20
_COMMIT_CHARS = 7
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """What will be submitted."""

    ref: JobRef
    backend: str
    recorded: RecordedSubmission  # the script is None if its file is as it was
    job_config: str = ""
    no_agent: bool = False
    may_run_twice: str = ""  # a warning
    changes: tuple[str, ...] = ()  # what is not as it was
    script_diff: tuple[str, ...] = ()  # from the recorded text to the file

    @property
    def words(self) -> tuple[str, ...]:
        """The command that submits it, without values that may be secret."""
        return (*submit_words(self.backend), *without_values(self.recorded.arguments))

    def request(self, arguments: tuple[str, ...]) -> SubmitRequest:
        """Return what is to be submitted, with the arguments of `in_recorded_folder`."""
        return SubmitRequest(
            self.backend, arguments, self.job_config, self.recorded.script_path, no_agent=self.no_agent
        )


def plan_rerun(ctx: Context, argument: str, options: Sequence[str]) -> RerunPlan:
    """Return a plan to submit a job again; the sbatch ``options`` are added and override the recorded ones.

    Raise JobmonError if what it ran was not recorded completely, or its folder is gone.
    """
    job, _ = find_job(ctx, argument)
    record, script = _complete_record(ctx, job)
    recorded = _split(record.arguments, f"job {job.ref}")
    added, more = _split(options, "jobmon rerun")
    if more:
        raise JobmonError(f"only sbatch options may follow the job, not {more[0]!r}")
    kept, lost = without_hidden(recorded[0])
    if EXPORT in lost and EXPORT not in dict(read_with_unknown(readable(added))[0]):
        raise JobmonError(
            f"jobmon does not keep the values that job {job.ref} got by --export; "
            f"give them again: `jobmon rerun {job.ref} --export=...`"
        )
    # each component of a het job gets the new options
    kept = [each for word in kept for each in ((*added, word) if word == ":" else (word,))]
    needs_copy, changes, lines = _script_now(job, script)
    if COMMENT in lost:
        changes = (*changes, "its --comment was not recorded, and is left out")
    text = script.text if needs_copy else None
    return RerunPlan(
        job.ref,
        job.backend,
        RecordedSubmission(
            (*kept, *added, *recorded[1]), record.folder, {}, text, script.name, script_path=script.path
        ),
        record.job_config,
        bool(job.settings and job.settings.no_agent),
        f"job {job.ref} is not known to have ended: both may run at the same time"
        if may_still_run(job)
        else "",
        (*changes, *_other_changes(record)),
        lines,
    )


def _complete_record(ctx: Context, job: WatchedJob) -> tuple[RunRecord, Script]:
    if is_ray(job.backend):
        raise JobmonError(
            f"job {job.ref} ran on a Ray cluster, and jobmon does not record the options of such a job; "
            f"submit it again with them: {_ray_command(job)}"
        )
    if job.backend in BY_TEXT:
        raise JobmonError(
            f"{job.name} ran on Kubernetes, and jobmon does not record the file of such a job; submit it "
            "again: `jobmon submit --backend kubernetes FILE`"
        )
    record = ctx.run_record(job.id).taken()
    path = script_path(job, record)
    again = f"`jobmon submit {path}`" if path else "`jobmon submit`"
    if record is None or record.script is None or record.script.kind is ScriptKind.SCHEDULER:
        raise JobmonError(
            f"job {job.ref} was not submitted through this jobmon, so its options and arguments are not "
            f"known; submit its script with {again}"
        )
    if record.script.kind is ScriptKind.COMMAND:
        raise JobmonError(f"job {job.ref} was a command of `jobmon run`; run that command again")
    if record.arguments_hidden:
        raise JobmonError(
            f"the command line of job {job.ref} contained what looks like a password or a token, which "
            f"jobmon does not keep; submit it with {again}"
        )
    if not record.folder:
        raise JobmonError(f"the folder of job {job.ref} was not recorded; submit it with {again}")
    if not Path(record.folder).is_dir():
        raise JobmonError(f"the folder of job {job.ref} is gone: {record.folder}")
    return record, record.script


def _ray_command(job: WatchedJob) -> str:
    words = ["jobmon", "submit", "--backend", job.backend, "--address", url_of(job.cluster)]
    return f"`{shlex.join(words)} [OPTIONS] -- {shlex.join([redacted(job.command)])}`"


def _split(words: Sequence[str], whose: str) -> tuple[list[str], list[str]]:
    try:
        return split(words)
    except SchedulerRejected as error:
        raise JobmonError(f"{whose}: {error}") from error


def _script_now(job: WatchedJob, script: Script) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """Return whether the recorded text must be submitted instead of the file, why, and how they differ."""
    if script.kind is ScriptKind.WRAP:
        return False, (), ()
    if script.kind is ScriptKind.STDIN:
        if script.text is None:
            raise _no_text(job, script)
        return True, ("the script came from stdin; the recorded text is submitted",), ()
    content = read_regular(script.path, 4 * MAX_SCRIPT_BYTES) if script.path else None
    if content is not None and digest(content) == script.digest:
        return False, (), ()
    if script.text is None:
        raise _no_text(job, script, is_read=content is not None)
    if content is None:
        return True, (f"{script.name} {_why_unread(script.path)}; the recorded text is submitted",), ()
    now = content.decode("utf-8", "surrogateescape")
    lines = count(changed_lines(script.text, now), "line")
    why = f"{script.name} was changed since ({lines}, below); the recorded text is submitted, not the file"
    return True, (why,), unified(script.text, now, _MAX_DIFF_LINES)


def _why_unread(path: str) -> str:
    return "cannot be read" if os.path.lexists(path) else "is gone"


def _no_text(job: WatchedJob, script: Script, *, is_read: bool = False) -> JobmonError:
    """``is_read``: its file can be read now."""
    if not script.path:
        return JobmonError(
            f"the script of job {job.ref} {script.why_no_text}, so it cannot be submitted again"
        )
    if not is_read:
        return JobmonError(
            f"{script.path} {_why_unread(script.path)}, and its text was not recorded, since it "
            f"{script.why_no_text}, so job {job.ref} cannot be submitted again"
        )
    return JobmonError(
        f"{script.path} was changed since job {job.ref}, and its text was not recorded: it "
        f"{script.why_no_text}; `jobmon submit {script.path}` submits it as it is now"
    )


def _other_changes(record: RunRecord) -> Iterator[str]:
    if record.sentinel:
        yield "the job was submitted with --sentinel; the new one has no sentinel"
    path = record.script.path if record.script else ""
    names = [each.rpartition("/")[2] for each in changed_files(record.files) if each != path]
    if names:
        more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
        yield f"changed since, and used as it is now: {', '.join(names[:_MAX_NAMED])}{more}"
    old, new = record.git, git_state(record.folder, Runner())[0]
    if old and new and old.commit and new.commit and old.commit != new.commit:
        yield f"the commit is {new.commit[:_COMMIT_CHARS]} now, it was {old.commit[:_COMMIT_CHARS]}"
