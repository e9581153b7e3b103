"""Use case: check a submission before it is made. Nothing is submitted and nothing is changed."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.checks.background import past_runs, same_jobs, setup_of
from jobmon_core.app.checks.python import Environments
from jobmon_core.app.checks.submission import read_submission
from jobmon_core.app.jobs.job_config import find_settings
from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.domain.before.batch_script.model import BatchScript
from jobmon_core.domain.before.batch_script.paths import Use
from jobmon_core.domain.before.batch_script.request import Request, log_files
from jobmon_core.domain.before.checks.check_all import check_all
from jobmon_core.domain.before.checks.facts import Facts, PathFact, PathKind
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.settings import RestartMode
from jobmon_core.domain.slurm.sbatch_options import UnknownOption, misplaced_options
from jobmon_core.observe.artifacts.listing import disk_of
from jobmon_core.observe.batch_script import existing_folder, look_at, quota_of, read_text
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.before.checks.model import Item

_SLURM = "slurm"
_RESUME_FROM = "JOBMON_RESUME_FROM"
_WRITTEN = (Use.OUTPUT_FOLDER, Use.CHECKPOINTS, Use.REDIRECTED)


@dataclass(frozen=True, slots=True)
class CheckSubmission:
    """Checks submissions of one user; ``command`` starts jobmon."""

    ctx: Context
    command: tuple[str, ...]
    runner: Runner = field(default_factory=Runner)
    change: Callable[[JobSettings], JobSettings] | None = None  # what options change in the job configuration

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
        try:
            facts = read_submission(readable(arguments, self.runner), self.ctx.environment)
        except UnknownOption as error:
            if name != _SLURM:
                raise
            unread = Facts(Request(), BatchScript(), unknown_option=error.name)
            return self._with_answers(unread, name, arguments)
        settings, settings_fault = _settings(facts.request.script)
        settings = self.change(settings or JobSettings()) if self.change else settings
        restart = settings.restart if settings else None
        environments = Environments(facts, self.runner)
        jobs = same_jobs(self.ctx, facts.request, facts.script_file.path if facts.script_file else "")
        folder = _written_folder(facts, settings)
        texts = dict(_shell_texts(facts))
        facts = replace(
            facts,
            now_s=self.ctx.clock.now(),
            misplaced=tuple(misplaced_options(readable(arguments, self.runner))[1]),
            paths=dict(_paths(facts, settings)),
            logs=_logs(facts),
            is_slurm=name == _SLURM,
            room=disk_of(existing_folder(folder)),
            room_folder=existing_folder(folder),
            quota=quota_of(self.runner, folder, user_name()),
            environments=tuple(environments.environments()),
            python=tuple(environments.python_programs()),
            sourced_names=environments.sourced_names(),
            past=tuple(past_runs(self.ctx, jobs)),
            running=tuple(str(job.ref) for job in jobs if not job.ended and not job.closed),
            setup=setup_of(self.ctx, self.runner, self.command),
            shell_files=tuple(
                PathFact(path, has_line_ends_of_dos="\r\n" in text) for path, text in texts.items()
            ),
            checkpoint_dir=settings.checkpoint_dir if settings else "",
            output_dir=settings.output_dir if settings else "",
            settings=settings,
            settings_fault=settings_fault,
            restart=restart if restart and restart.mode is not RestartMode.OFF else None,
            reads_resume=any(_RESUME_FROM in text for text in (facts.script.text, *texts.values())),
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
        options = facts.request.options
        answer = queries.test_only(self.runner, arguments, self.ctx.environment)
        if answer.accepted is None:  # Slurm does not respond: the other queries would time out, too
            return replace(facts, test_only=answer)
        names, cluster = options.get("partition", ""), options.get("clusters", "")
        return replace(
            facts,
            test_only=answer,
            partition=queries.partition(self.runner, names, cluster),
            slurm_version=queries.version(self.runner),
        )


def _settings(script: str) -> tuple[JobSettings | None, str]:
    """Return the settings beside a script, or why they do not count."""
    try:
        return find_settings(script, lambda _note: None), ""
    except (ConfigInvalid, ImportError) as error:
        return None, " ".join(str(error).replace("\n  - ", " ").split())


def _logs(facts: Facts) -> tuple[str, ...]:
    return log_files(facts.request, facts.folder, user_name())


def _paths(facts: Facts, settings: JobSettings | None) -> Iterator[tuple[str, PathFact]]:
    """Yield what is at each path that the rules look at."""
    uses = [*facts.uses, *(use for uses in facts.task_uses.values() for use in uses)]
    lists = {use.path for use in uses if use.use is Use.LIST}
    wanted = {use.path for use in uses}
    wanted |= {posixpath.dirname(use.path) for use in uses if use.use is Use.REDIRECTED}
    wanted |= {facts.folder, *_logs(facts), *map(posixpath.dirname, _logs(facts))}
    wanted |= {*facts.script.interpreter[:1]}
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


def _written_folder(facts: Facts, settings: JobSettings | None) -> str:
    """Return the folder that the job probably writes most to."""
    if settings and settings.output_dir:
        return settings.output_dir
    written = [use for use in facts.uses if use.use in _WRITTEN]
    written.sort(key=lambda use: _WRITTEN.index(use.use))
    return written[0].folder if written else facts.folder


def _shell_texts(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each shell script that the script runs."""
    for use in facts.uses:
        if use.use is Use.PROGRAM and use.path.endswith((".sh", ".bash")):
            yield use.path, read_text(use.path) or ""
