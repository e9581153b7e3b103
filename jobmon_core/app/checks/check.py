"""Use case: check a submission before it is made. Nothing is submitted and nothing is changed."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.autostart import Autostart
from jobmon_core.app.checks.python import Environments
from jobmon_core.app.checks.submission import read_submission
from jobmon_core.app.history.look import experience
from jobmon_core.app.jobs.job_config import find_settings, read_settings
from jobmon_core.app.sbatch_arguments import readable
from jobmon_core.domain.before.batch_script.model import BatchScript
from jobmon_core.domain.before.batch_script.paths import Use
from jobmon_core.domain.before.batch_script.request import Request, log_files
from jobmon_core.domain.before.checks.check_all import check_all
from jobmon_core.domain.before.checks.facts import Facts, PathFact, PathKind, Setup, SubmissionAnswer
from jobmon_core.domain.channels import Route
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, StorageFailed
from jobmon_core.domain.job.job_settings import JobSettings, RestartMode, RestartSettings
from jobmon_core.domain.many.provenance.model import digest
from jobmon_core.domain.slurm.sbatch_options import UnknownOption, misplaced_options
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.observe.artifacts.listing import disk_of
from jobmon_core.observe.batch_script import existing_folder, look_at, quota_of, read_text
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.store.jobs import Unreadable
from jobmon_core.system.environment import dir_of_program
from jobmon_core.system.runner import Runner
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.finding import Finding
    from jobmon_core.domain.job.tracking.model import WatchedJob


def same_jobs(ctx: Context, request: Request, script_path: str) -> list[WatchedJob]:
    """Return the watched jobs of the same script, else of the same name, newest first."""
    if not (ctx.home.root / "state").is_dir():
        return []
    jobs = [job for job in ctx.store.all() if not isinstance(job, Unreadable)]
    of_script = [job for job in jobs if script_path and job.command == script_path]
    found = of_script or [job for job in jobs if job.name == request.name]
    return sorted(found, key=lambda job: -job.registered_s)


def _save_interval_s(ctx: Context, job: WatchedJob) -> float:
    """Return how often a job saves checkpoints; 0 if that is not known."""
    artifacts = ctx.progress_file(job.id).read().artifacts.values()
    return max((each.checkpoints.interval_s or 0.0 for each in artifacts if each.checkpoints), default=0.0)


def setup_of(ctx: Context, runner: Runner, command: tuple[str, ...]) -> Setup:
    """Return how jobmon is set up; ``command`` starts jobmon."""
    channels, fault = tuple[str, ...](), ""
    try:
        config = ctx.configuration()
        channels = tuple(route.value for route in Route if config.channels_for(route))
    except ConfigInvalid as error:
        fault = mask_webhooks(" ".join(str(error).split()))
    return Setup(channels, fault, *_autostart(ctx, runner, command))


def _autostart(ctx: Context, runner: Runner, command: tuple[str, ...]) -> tuple[str, bool]:
    try:
        autostart = Autostart.of(ctx, command, runner)
        statuses = autostart.statuses()
        working = [each.method.value for each in statuses if each.installed and not each.never_runs_because]
        if not working:
            autostart.recommended(statuses)
    except (JobmonError, OSError):  # what cannot be determined counts as not installed, and not possible
        return "", False
    return working[0] if working else "", True


_SLURM = "slurm"
_RESUME_FROM = "JOBMON_RESUME_FROM"
_WRITTEN = (Use.OUTPUT_FOLDER, Use.CHECKPOINTS, Use.REDIRECTED)


@dataclass(frozen=True, slots=True)
class CheckSubmission:
    """Checks submissions; ``command`` starts jobmon."""

    ctx: Context
    command: tuple[str, ...]
    runner: Runner = field(default_factory=Runner)
    change: Callable[[JobSettings], JobSettings] | None = None  # what options change
    job_config: str = ""  # the path that --job-config names

    def check(self, backend: str | None, arguments: Sequence[str]) -> tuple[Finding, ...]:
        """Check what sbatch would submit with these arguments.

        Raises:
            SchedulerRejected: there is no script, or an option before it is wrong.
            SchedulerMissing: jobmon has no such backend.
        """
        return check_all(self.facts(backend, arguments))

    def facts(self, backend: str | None, arguments: Sequence[str]) -> Facts:
        """Return what `check` judges; raises the same errors."""
        name = self.backend(backend)
        if line := find_backend(name).command_line:
            arguments = line.as_sbatch(arguments)
        try:
            facts = read_submission(readable(arguments, self.runner), self.ctx.environment)
        except UnknownOption as error:
            if name != _SLURM:
                raise
            unread = Facts(Request(), BatchScript(), unknown_option=error.name)
            return self._with_answers(unread, name, arguments)
        settings, settings_fault = _settings(facts.request.script, self.job_config)
        if self.change:
            settings = self.change(settings or JobSettings())
        own = settings or JobSettings()
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
            saves_every_s=next(filter(None, (_save_interval_s(self.ctx, job) for job in jobs)), None),
            running=tuple(str(job.ref) for job in jobs if not job.ended and not job.closed),
            setup=setup_of(self.ctx, self.runner, self.command),
            prices=self.ctx.prices(),
            shell_files=tuple(
                PathFact(path, has_line_ends_of_dos="\r\n" in text) for path, text in texts.items()
            ),
            checkpoint_dir=own.checkpoint_dir,
            output_dir=own.output_dir,
            settings=settings,
            settings_fault=settings_fault,
            restart=_wanted(own.restart),
            reads_resume=any(_RESUME_FROM in text for text in (facts.script.text, *texts.values())),
        )
        return self._with_answers(_with_history(self.ctx, facts), name, arguments)

    def backend(self, named: str | None) -> str:
        """Return the named backend, else the configured one."""
        try:
            return named or self.ctx.configuration().backend
        except ConfigInvalid:  # an item of its own says so
            return _SLURM

    def _with_answers(self, facts: Facts, backend: str, arguments: Sequence[str]) -> Facts:
        scheduler = find_backend(backend)
        file = facts.script_file
        program = scheduler.command_line.program if scheduler.command_line else ""
        if program and not dir_of_program(program, self.ctx.environment):
            return replace(facts, test_only=SubmissionAnswer(None, f"{program} is not on the PATH here"))
        if scheduler.test_only is None or (file is not None and not file.can_read):
            return facts
        options = facts.request.options
        answer = scheduler.test_only(self.runner, arguments, self.ctx.environment)
        if answer.accepted is None:  # the other queries would time out, too
            return replace(facts, test_only=answer)
        names, cluster = options.get("partition", ""), options.get("clusters", "")
        return replace(
            facts,
            test_only=answer,
            partition=scheduler.partition(self.runner, names, cluster),
            slurm_version=scheduler.version(self.runner),
        )


def _with_history(ctx: Context, facts: Facts) -> Facts:
    script = digest(facts.script.text.encode()) if facts.script_file else ""
    try:
        alike, suspects = experience(ctx, facts.request.name, script)
    except StorageFailed as error:
        return replace(facts, history_fault=str(error))
    return replace(facts, alike=tuple(alike), suspects=tuple(suspects))


def _wanted(restart: RestartSettings | None) -> RestartSettings | None:
    if restart and restart.mode is RestartMode.OFF:
        return None
    return restart


def _settings(script: str, job_config: str) -> tuple[JobSettings | None, str]:
    try:
        if job_config:
            return read_settings(Path(job_config), lambda _note: None), ""
        return find_settings(script, lambda _note: None), ""
    except (ConfigInvalid, ImportError) as error:
        return None, " ".join(str(error).replace("\n  - ", " ").split())


def _logs(facts: Facts) -> tuple[str, ...]:
    return log_files(facts.request, facts.folder, user_name())


def _paths(facts: Facts, settings: JobSettings | None) -> Iterator[tuple[str, PathFact]]:
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
    if file.kind is not PathKind.FILE or not file.can_read or not file.size_bytes:
        return file
    from jobmon_core.observe.artifacts.formats.check import check_file  # only if there is an input

    found = check_file(Path(file.path))
    if found.is_bad:
        return replace(file, damage=found.why)
    return file


def _written_folder(facts: Facts, settings: JobSettings | None) -> str:
    if settings and settings.output_dir:
        return settings.output_dir
    written = [use for use in facts.uses if use.use in _WRITTEN]
    written.sort(key=lambda use: _WRITTEN.index(use.use))
    if written:
        return written[0].folder
    return facts.folder


def _shell_texts(facts: Facts) -> Iterator[tuple[str, str]]:
    for use in facts.uses:
        if use.use is Use.PROGRAM and use.path.endswith((".sh", ".bash")):
            yield use.path, read_text(use.path) or ""
