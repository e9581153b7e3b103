"""Submit a job and watch it. The user waits, so most modules are imported while sbatch is running."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.context import backend_names
from jobmon_core.domain.backends import is_local
from jobmon_core.domain.errors import JobmonError, SchedulerRejected, StorageFailed
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.system.environment import ATTEMPT_VARIABLES
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.app.runs.submit_request import SubmitRequest
    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.restart.next_submission import NextAttempt
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.recorder import Recorder, WaitForJobs
    from jobmon_core.scheduler.base import Submission, Submitted, Submitter

_MAX_SKEW_S = 86_400.0  # between the clocks of this host and of the one that dates submissions


class SubmitJob:
    """Submits one job of the user, and watches it."""

    def __init__(
        self,
        ctx: Context,
        tell: Callable[[str], None],
        request: SubmitRequest,
        *,
        on_saved: Callable[[NewJob], None] | None = None,
        attempt: NextAttempt | None = None,
    ) -> None:
        """Set up without any I/O.

        ``on_saved`` is called with the submitted job, if it has a state file, before its monitor starts.
        ``attempt`` makes the job an attempt of a lineage; no job configuration is read then.
        """
        self._ctx = ctx
        # one monitor for a whole group
        self._starter = MonitorStarter(ctx, at_most=1 if request.group or request.group_run else 0)
        self._tell = tell
        self._request = request
        self._on_saved = on_saved
        self._attempt = attempt
        self.saved: NewJob | None = None  # the record of the job, if it could be written
        self._settings: JobSettings | None = None
        self._has_settings = attempt is not None
        self._submitted_indices, self._job_name = "", ""
        self._is_watched = False
        self._warnings: list[str] = []
        self._cost = ""

    def submission(self) -> Submission:
        """Submit as the scheduler's own command would, and watch the job.

        Raises:
            Invalid: nothing was submitted: e.g. such a job cannot have restarts.
            SchedulerMissing: this host has no such scheduler.
        """
        config, request = self._ctx.configuration(), self._request
        if request.group:
            from jobmon_core.domain.many.groups.model import checked_name

            checked_name(request.group)
        if request.job_config and not self._attempt:
            from jobmon_core.app.jobs.job_config import read_settings

            self._settings = read_settings(Path(request.job_config), self._tell)
            self._has_settings = True
        backend = request.backend or config.backend
        submitter = self._ctx.submitter(backend)
        if self._may_have_restarts():
            self._attempt = self._first_attempt(backend)

        def prepare() -> None:
            self._prepare(backend, config.prices)

        return self._submit(config, backend, submitter, self._arguments(backend), prepare)

    def _may_have_restarts(self) -> bool:
        """Whether to look closer, which takes time before sbatch starts: few jobs have restarts."""
        if self._attempt:
            return False
        request = self._request
        if request.restart or (self._settings and self._settings.restart):
            return True
        words = [request.script_path] if request.script_path else request.arguments
        folders = {os.path.dirname(word) for word in words}  # noqa: PTH120 - texts
        return not request.job_config and any(_mentions_restarts(folder) for folder in folders)

    def _first_attempt(self, backend: str) -> NextAttempt | None:
        from jobmon_core.app.restarts.first_attempt import first_attempt
        from jobmon_core.app.sbatch_arguments import script_of
        from jobmon_core.domain.job.job_settings import JobSettings

        request = self._request
        self._read_settings(script_of(request.arguments, backend))
        attempt = first_attempt(self._ctx, request._replace(backend=backend), self._settings, self._tell)
        if request.restart:  # its other words count without restarts, too
            self._settings = request.restart(self._settings or JobSettings())
        return attempt

    def _arguments(self, backend: str) -> Sequence[str]:
        attempt = self._attempt
        added = (*self._request.dependency, *(attempt.options if attempt else ()))
        if not added and not attempt:
            return self._request.arguments
        from jobmon_core.app.sbatch_arguments import with_options

        return with_options(self._request.arguments, added, backend, attempt.variables if attempt else ())

    @contextmanager
    def _exported(self) -> Iterator[None]:
        if self._attempt is None:
            yield
            return
        before = {name: os.environ.pop(name, None) for name in ATTEMPT_VARIABLES}
        os.environ.update(self._attempt.variables)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

    def submit_command(self, submitter: Submitter, settings: JobSettings | None) -> Submission:
        """Start a command with a submitter of its backend, and watch it as a job."""
        backend, command = self._request.backend, self._request.arguments
        self._settings = settings
        return self._submit(self._ctx.configuration(), backend, submitter, command, lambda: None)

    def _submit(
        self,
        config: Config,
        backend: str,
        submitter: Submitter,
        arguments: Sequence[str],
        prepare: Callable[[], None],
    ) -> Submission:
        def on_start() -> None:
            self._starter.prefork(self._recorder(backend))
            prepare()

        try:
            with self._exported():
                result = submitter.submit(
                    arguments, lambda submitted: self.watch(backend, submitted), on_start
                )
        finally:
            self._starter.discard()
        if result.note:
            self._tell(result.note)
        for warning in self._warnings:
            self._tell(warning)
        if result.job:
            if self._cost:
                self._tell(f"cost: {self._cost}")
            self._warn_of_missing_webhooks(config)
            self._warn_of_early_end(backend, result.job.ref)
            self._warn_of_host()
        return result

    def _prepare(self, backend: str, prices: Prices | None) -> None:
        """Do what takes time while sbatch is running."""
        from jobmon_core.scheduler.backends import find_backend

        if line := find_backend(backend).command_line:
            import jobmon_core.domain.job.tracking.new_job
            import jobmon_core.store.jobs  # noqa: F401 - loads it

            with suppress(SchedulerRejected):  # the scheduler will say so
                words = line.read(self._request.arguments)
                self._submitted_indices, self._job_name = words.array, words.name
                self._warnings += words.warnings
                self._read_settings(words.script)
            return
        self._prepare_for_sbatch(backend, prices)

    def _prepare_for_sbatch(self, backend: str, prices: Prices | None) -> None:
        import jobmon_core.domain.job.tracking.new_job
        import jobmon_core.store.jobs
        from jobmon_core.analysis.job_logs import read_script
        from jobmon_core.app.sbatch_arguments import readable
        from jobmon_core.app.submit_warnings import log_warning
        from jobmon_core.domain.before.batch_script.request import read_request
        from jobmon_core.domain.slurm.sbatch_options import script_of
        from jobmon_core.scheduler.backends import find_backend

        if self._request.sentinel:
            import jobmon_core.app.add_sentinel  # noqa: F401 - loads it
        arguments = readable(self._request.arguments)
        script = script_of(arguments)
        with suppress(SchedulerRejected):  # sbatch will say so
            request = read_request(arguments, os.environ, read_script(script))
            self._submitted_indices, self._job_name = request.options.get("array", ""), request.name
            if warning := log_warning(request, find_backend(backend)):
                self._warnings.append(warning)
            if prices and not self._request.group_run:  # a sweep may have hundreds of runs
                from jobmon_core.domain.before.checks.rules.cost import cost_text

                self._cost = cost_text(request, request.time_limit_s, prices)
        self._read_settings(script)
        if any(word.startswith("-") for word in arguments[1:]):  # else no option can follow the script
            self._warnings += _misplaced_option_warnings(arguments)

    def _read_settings(self, script: str) -> None:
        from jobmon_core.app.jobs.job_config import find_settings, settings_beside

        if self._has_settings:
            return
        path = self._request.script_path or script
        if self._request.restart:
            # without a faulty file, it would be restarted after ends that the file excludes
            with suppress(ImportError):
                find_settings(path, lambda _note: None)
        self._settings = settings_beside(path, self._warnings.append, self._request.backend)
        self._has_settings = True

    def _recorder(self, backend: str) -> Recorder:
        """Return what records the submission; it runs, and imports, in another process."""

        def record(wait_for_jobs: WaitForJobs) -> None:
            from jobmon_core.app.runs.record import record_run

            record_run(self._ctx, self._request._replace(backend=backend), wait_for_jobs)

        return record

    def _warn_of_missing_webhooks(self, config: Config) -> None:
        missing = [route.value for route in config.routes_without_channel]
        if missing:
            until_then = "; until then `jobmon status` tells how the job ended" if self._is_watched else ""
            kinds = " and ".join(missing)
            self._tell(
                f"no Discord webhook is configured for {kinds} messages: run `jobmon init`{until_then}"
            )

    def _warn_of_early_end(self, backend: str, ref: JobRef) -> None:
        from jobmon_core.app.submit_warnings import take_warning, warning_in_job

        outlives_monitor = not (is_local(backend) or self._request.sentinel)
        if outlives_monitor and (warning := warning_in_job(str(ref))):
            self._tell(warning)
        with suppress(StorageFailed):  # told before, and the exit code is that of sbatch
            if warning := take_warning(self._ctx.home, user_name()):
                self._tell(warning)

    def _warn_of_host(self) -> None:
        from jobmon_core.app.submit_warnings import exposed_home, open_files_warning

        if warning := open_files_warning():
            self._tell(warning)
        if problem := exposed_home(self._ctx.home):
            self._tell(f"warning: {problem}")

    def watch(self, backend: str, submitted: Submitted) -> None:
        """Watch a job that was submitted just now, or whose submission was cut off before that.

        A failure here does not affect the job.
        """
        from jobmon_core.domain.job.tracking.new_job import NewJob
        from jobmon_core.store.jobs import state_id

        request, settings = self._request, self._attempt.settings if self._attempt else self._settings
        if request.no_agent or request.chain or request.group_run:
            from dataclasses import replace

            from jobmon_core.domain.job.job_settings import JobSettings

            settings = replace(
                settings or JobSettings(),
                no_agent=request.no_agent,
                chain=request.chain,
                run=request.group_run,
            )
        job = NewJob(
            id=state_id(submitted.cluster or backend, submitted.ref),
            job_id=submitted.ref.job_id,
            registered_s=self._ctx.clock.now(),
            not_before_s=self._ctx.clock.now() - _MAX_SKEW_S,
            backend=backend,
            cluster=submitted.cluster,
            remote=bool(submitted.cluster),
            user=user_name(),
            submitted_indices=self._submitted_indices,
            settings=settings,
        )
        try:
            self._ctx.store.save(job)
        except JobmonError as error:  # without a state file, `recover` cannot find it
            self._tell_unwatched(submitted, error, f"jobmon watch {submitted.ref}", settings)
            return
        self.saved = job
        for record in (self._attempt.record if self._attempt else None, self._on_saved):
            if record:
                record(job)
        if request.group:
            from jobmon_core.app.groups.jobs import join_group

            join_group(self._ctx, request.group, job, self._job_name, self._tell)
        try:
            self._starter.watch(job.id)
        except (JobmonError, OSError) as error:  # jobmon still returns the exit code of sbatch
            self._tell_unwatched(submitted, error, "jobmon recover")
        else:
            self._is_watched = True
            self._tell(f"watching job {submitted.ref}; `jobmon status` shows it")
        if request.sentinel:
            from jobmon_core.app.add_sentinel import add_sentinel
            from jobmon_core.system.runner import Runner

            add_sentinel(self._ctx, job, self._tell, Runner())

    def _tell_unwatched(
        self, submitted: Submitted, error: Exception, remedy: str, lost: JobSettings | None = None
    ) -> None:
        what = f"job {submitted.ref} is submitted, but not watched"
        without = ", without restarts" if lost and lost.attempt else ""
        self._tell(f"{what}: {error}; `{remedy}` tries again{without}")


def _mentions_restarts(folder: str) -> bool:
    path = Path(folder, "jobmon.yaml")
    try:  # anybody may have put a pipe there
        return path.is_file() and b"restart" in path.read_bytes()
    except OSError:
        return False


def _misplaced_option_warnings(arguments: Sequence[str]) -> Iterator[str]:
    from jobmon_core.domain.slurm.sbatch_options import misplaced_options

    script, options = misplaced_options(arguments)
    if options:
        names = " ".join(dict.fromkeys(options))
        yield f"passed to {script}, not to sbatch: {names} (for sbatch, put it before the script)"
    for own in _misplaced_own_options(arguments):
        yield f"{own} was not used by jobmon; put it first: `jobmon submit {own} ...`"


def _misplaced_own_options(arguments: Sequence[str]) -> list[str]:
    pairs = {*pairwise(arguments), *(tuple(word.split("=", 1)) for word in arguments)}
    # programs may have a --backend too, but with other values
    backends = [f"--backend {name}" for name in backend_names() if ("--backend", name) in pairs]
    names = [word.partition("=")[0] for word in arguments]
    with_value = [
        name for name in ("--job-config", "--group", "--restart", "--max-restarts") if name in names
    ]
    flags = [flag for flag in ("--sentinel", "--no-agent", "--checked") if flag in arguments]
    return [*flags, *with_value, *backends]
