"""Use case: check a submission before it is made. Nothing is submitted and nothing is changed."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.checks.background import past_runs, same_jobs, setup_of
from jobmon_core.app.checks.python import Environments
from jobmon_core.app.checks.submission import Submission, read_submission
from jobmon_core.app.jobs.job_config import settings_beside
from jobmon_core.domain.batch_script.paths import PathUse, Use
from jobmon_core.domain.checks.check_all import check_all
from jobmon_core.domain.checks.facts import Facts, PathFact, PathKind
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.slurm.log_paths import templates_from_record
from jobmon_core.domain.slurm.sbatch_options import misplaced_options
from jobmon_core.observe.batch_script.look import free_room, look_at, read_text
from jobmon_core.observe.batch_script.quota import quota_of
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.checks.model import Item
    from jobmon_core.domain.job_settings import JobSettings

_SLURM = "slurm"
_WRITTEN = (Use.OUTPUT_FOLDER, Use.CHECKPOINTS, Use.REDIRECTED)


@dataclass(frozen=True, slots=True)
class CheckSubmission:
    """Checks submissions of one user; ``command`` starts jobmon."""

    ctx: Context
    command: tuple[str, ...]
    runner: Runner = field(default_factory=Runner)

    def check(self, backend: str | None, arguments: Sequence[str]) -> tuple[Item, ...]:
        """Return everything that was checked about what sbatch would submit with these arguments.

        Raises:
            SchedulerRejected: there is no script, or an option before it is wrong.
            SchedulerMissing: jobmon has no such backend.
        """
        return check_all(self.facts(backend, arguments))

    def facts(self, backend: str | None, arguments: Sequence[str]) -> Facts:
        """Return the facts that `check` judges; raises the same errors."""
        name = self.backend(backend)
        submission = read_submission(arguments, self.ctx.environment)
        settings = settings_beside(submission.request.script, lambda _note: None)
        paths = dict(_paths(submission, settings))
        environments = Environments(submission, self.runner)
        script_path = submission.file.path if submission.file else ""
        jobs = same_jobs(self.ctx, submission.request, script_path)
        folder = _written_folder(submission, settings)
        facts = Facts(
            submission.request,
            submission.script,
            submission.file,
            now_s=self.ctx.clock.now(),
            folder=submission.folder,
            misplaced=tuple(misplaced_options(arguments)[1]),
            values=submission.values,
            environment=submission.environment,
            programs=submission.programs,
            uses=submission.uses,
            task_uses=submission.task_uses,
            paths=paths,
            logs=_logs(submission),
            is_slurm=name == _SLURM,
            room=free_room(folder),
            quota=quota_of(self.runner, folder, user_name()),
            environments=tuple(environments.environments()),
            python=tuple(environments.python_programs()),
            sourced_names=environments.sourced_names(),
            past=tuple(past_runs(self.ctx, jobs)),
            running=tuple(str(job.ref) for job in jobs if not job.ended and not job.closed),
            setup=setup_of(self.ctx, self.runner, self.command),
            shell_files=tuple(_shell_files(submission)),
            checkpoint_dir=settings.checkpoint_dir if settings else "",
            output_dir=settings.output_dir if settings else "",
        )
        return self._with_answers(facts, name, arguments)

    def backend(self, named: str | None) -> str:
        """Return the name of the backend: the named one, else the configured one."""
        try:
            return named or self.ctx.configuration().backend
        except ConfigInvalid:  # an item of its own says so
            return _SLURM

    def _with_answers(self, facts: Facts, backend: str, arguments: Sequence[str]) -> Facts:
        """Return the facts with what the scheduler says."""
        queries = find_backend(backend).submission_queries
        file = facts.script_file
        if queries is None or (file is not None and not file.can_read):
            return facts
        asked, options = queries(), facts.request.options
        answer = asked.test_only(self.runner, arguments, self.ctx.environment)
        if answer.accepted is None:  # Slurm does not respond: the other queries would time out, too
            return replace(facts, test_only=answer)
        names, cluster = options.get("partition", ""), options.get("clusters", "")
        return replace(
            facts,
            test_only=answer,
            partition=asked.partition(self.runner, names, cluster),
            slurm_version=asked.version(self.runner),
        )


def _logs(submission: Submission) -> tuple[str, ...]:
    options = submission.request.options
    paths = templates_from_record(
        options.get("output", ""),
        options.get("error", ""),
        submission.folder,
        is_array=submission.request.array is not None,
    )
    return tuple(dict.fromkeys((paths.stdout, paths.stderr)))


def _paths(submission: Submission, settings: JobSettings | None) -> Iterator[tuple[str, PathFact]]:
    """Yield what is at each path that the rules look at."""
    uses = [*submission.uses, *(use for uses in submission.task_uses.values() for use in uses)]
    lists = {use.path for use in uses if use.use is Use.LIST}
    wanted = {use.path for use in uses}
    wanted |= {posixpath.dirname(use.path) for use in uses if use.use is Use.REDIRECTED}
    wanted |= {posixpath.dirname(log) for log in _logs(submission)}
    wanted |= {*submission.script.interpreter[:1]}
    if settings:
        wanted |= {settings.checkpoint_dir, settings.output_dir}
    inputs = {use.path for use in uses if use.use is Use.INPUT}
    for path in sorted(wanted - {""}):
        found = look_at(path, counts_lines=path in lists)
        yield path, _checked(found) if path in inputs else found


def _checked(file: PathFact) -> PathFact:
    """Return what is at a path, with what is wrong with its content."""
    if file.kind is not PathKind.FILE or not file.can_read or not file.size_bytes:
        return file
    from jobmon_core.observe.artifacts.formats.check import check_file  # only if there is an input

    found = check_file(Path(file.path))
    return replace(file, damage=found.why) if found.is_bad else file


def _written_folder(submission: Submission, settings: JobSettings | None) -> str:
    """Return the folder that the job probably writes most to."""
    if settings and settings.output_dir:
        return settings.output_dir
    written = [use for use in submission.uses if use.use in _WRITTEN]
    written.sort(key=lambda use: _WRITTEN.index(use.use))
    return _folder_of(written[0]) if written else submission.folder


def _folder_of(use: PathUse) -> str:
    return posixpath.dirname(use.path) if use.use is Use.REDIRECTED else use.path


def _shell_files(submission: Submission) -> Iterator[PathFact]:
    """Yield the shell scripts that the script runs."""
    for use in submission.uses:
        if use.use is Use.PROGRAM and use.path.endswith((".sh", ".bash")):
            text = read_text(use.path) or ""
            yield PathFact(use.path, has_line_ends_of_dos="\r\n" in text)
