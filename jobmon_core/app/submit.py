"""Submit a job and watch it. The user waits, so most modules are imported while sbatch is running."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.context import backend_names
from jobmon_core.domain.errors import AlreadyWatched, JobmonError
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.job_settings import ChainStage, JobSettings
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.new_job import NewJob
    from jobmon_core.lifecycle.recorder import Recorder, WaitForJobs
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import Submission, Submitted, Submitter

_MAX_SKEW_S = 86_400.0  # between the clocks of this host and of the one that dates submissions


class SubmitJob:
    """Submits and watches jobs of one user."""

    def __init__(
        self,
        ctx: Context,
        starter: MonitorStarter,
        tell: Callable[[str], None],
        add_sentinel: Callable[[NewJob], None] | None = None,
        job_config: str = "",
        *,
        no_agent: bool = False,
        script_path: str = "",
        chain: ChainStage | None = None,
        dependency: Sequence[str] = (),
        on_saved: Callable[[NewJob], None] | None = None,
    ) -> None:
        """Set up without any I/O.

        Args:
            ctx: the user's jobmon.
            starter: starts the monitors.
            tell: prints a message to the user.
            add_sentinel: called last, with each submitted job that has a state file.
            job_config: the path of the job configuration; if empty, one beside the script is used.
            no_agent: whether nothing is to run beside the job.
            script_path: the file that the text of the script came from, if that is not the one submitted.
            chain: the place of the job in a chain.
            dependency: options of sbatch that make the job wait; they are not recorded, as a rerun has none.
            on_saved: called with each submitted job that has a state file, before its monitor starts.
        """
        self._ctx = ctx
        self._starter = starter
        self._tell = tell
        self._add_sentinel = add_sentinel
        self._job_config = job_config
        self._no_agent = no_agent
        self._script_path = script_path
        self._chain = chain
        self._dependency = dependency
        self._on_saved = on_saved
        self._settings: JobSettings | None = None
        self._submitted_indices = ""
        self._warnings: list[str] = []

    def submit(self, backend: str | None, arguments: Sequence[str]) -> int:
        """Submit as the scheduler's own command would, and watch the job; return that command's exit code.

        Raises what `submission` raises.
        """
        return self.submission(backend, arguments).exit_code

    def submission(self, backend: str | None, arguments: Sequence[str]) -> Submission:
        """Submit as the scheduler's own command would, and watch the job.

        Raises:
            ConfigInvalid: nothing was submitted.
            SchedulerMissing: this host has no such scheduler.
            StorageFailed: a lock in the jobmon home cannot be used.
        """
        config = self._ctx.configuration()
        if self._job_config:
            from jobmon_core.app.jobs.job_config import read_settings

            self._settings = read_settings(Path(self._job_config), self._tell)
        name = backend or config.backend
        submitter = self._ctx.submitter(name)

        def prepare() -> None:
            self._starter.prefork(self._recorder(arguments, name))
            self._prepare(arguments, backend or "")

        return self._submit(config, name, submitter, [*self._dependency, *arguments], prepare)

    def submit_command(
        self, backend: str, submitter: Submitter, command: Sequence[str], settings: JobSettings | None
    ) -> Submission:
        """Start a command with a submitter of ``backend``, and watch it as a job.

        ``command`` is the program and its arguments, without options for the submitter. ``settings`` is what
        the user says about the job.

        Raises:
            ConfigInvalid, CommandMissing: nothing was started.
        """
        self._settings = settings

        def prepare() -> None:
            self._starter.prefork(self._recorder(command, backend, is_command=True))

        return self._submit(self._ctx.configuration(), backend, submitter, command, prepare)

    def _submit(
        self,
        config: Config,
        backend: str,
        submitter: Submitter,
        arguments: Sequence[str],
        prepare: Callable[[], None],
    ) -> Submission:
        result = submitter.submit(arguments, lambda submitted: self._watch(backend, submitted), prepare)
        if result.note:
            self._tell(result.note)
        for warning in self._warnings:
            self._tell(warning)
        if result.job:
            self._warn_of_missing_webhooks(config)
            self._warn_of_logout()
        return result

    def _prepare(self, arguments: Sequence[str], backend: str) -> None:
        """Do what takes time while sbatch is running."""
        import jobmon_core.app.logout_warning
        import jobmon_core.domain.tracking.new_job
        import jobmon_core.store.jobs  # noqa: F401 - loads them
        from jobmon_core.analysis.job_logs import read_script
        from jobmon_core.app.jobs.job_config import settings_beside
        from jobmon_core.domain.slurm.sbatch_options import array_expression, script_of

        self._submitted_indices = array_expression(arguments, os.environ, read_script)
        if not self._job_config:
            script = self._script_path or script_of(arguments)
            self._settings = settings_beside(script, self._warnings.append, backend)
        if any(word.startswith("-") for word in arguments[1:]):  # else no option can follow the script
            self._warnings += _misplaced_option_warnings(arguments)

    def _recorder(self, arguments: Sequence[str], backend: str, *, is_command: bool = False) -> Recorder:
        """Return the function that records what is submitted; it runs, and imports, in another process."""

        def record(wait_for_jobs: WaitForJobs) -> None:
            from jobmon_core.app.runs.record import Request, record_run

            request = Request(
                tuple(arguments),
                backend,
                is_command,
                self._job_config,
                self._script_path,
                sentinel=self._add_sentinel is not None,
            )
            record_run(self._ctx, request, wait_for_jobs)

        return record

    def _warn_of_missing_webhooks(self, config: Config) -> None:
        missing = [route.value for route in config.routes_without_channel]
        if missing:
            self._tell(
                f"no Discord webhook is configured for {' and '.join(missing)} messages: run `jobmon init`; "
                "until then `jobmon status` tells how the job ended"
            )

    def _warn_of_logout(self) -> None:
        from jobmon_core.app import logout_warning

        if warning := logout_warning.take_warning(self._ctx.home, user_name()):
            self._tell(warning)

    def _watch(self, backend: str, submitted: Submitted) -> None:
        """Watch a job that was submitted just now; a failure here does not affect the job."""
        from jobmon_core.domain.tracking.new_job import NewJob

        settings = self._settings
        if self._no_agent:
            from dataclasses import replace

            from jobmon_core.domain.job_settings import JobSettings

            settings = replace(settings or JobSettings(), no_agent=True)
        if self._chain:
            from dataclasses import replace

            from jobmon_core.domain.job_settings import JobSettings

            settings = replace(settings or JobSettings(), chain=self._chain)
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
            self._tell_unwatched(submitted, error, f"jobmon watch {submitted.ref}")
            return
        if self._on_saved:
            self._on_saved(job)
        try:
            with suppress(AlreadyWatched):  # a `jobmon recover` has just started one
                self._starter.start([job.id])
        except (JobmonError, OSError) as error:  # jobmon still returns the exit code of sbatch
            self._tell_unwatched(submitted, error, "jobmon recover")
        else:
            self._tell(f"watching job {submitted.ref}; `jobmon status` shows it")
        if self._add_sentinel:
            self._add_sentinel(job)

    def _tell_unwatched(self, submitted: Submitted, error: Exception, remedy: str) -> None:
        self._tell(f"job {submitted.ref} is submitted, but not watched: {error}; `{remedy}` tries again")


def _misplaced_option_warnings(arguments: Sequence[str]) -> Iterator[str]:
    """Yield warnings about options that became arguments of the script because they follow it."""
    from jobmon_core.domain.slurm.sbatch_options import misplaced_options

    script, options = misplaced_options(arguments)
    if options:
        names = " ".join(dict.fromkeys(options))
        yield f"passed to {script}, not to sbatch: {names} (for sbatch, put it before the script)"
    for own in _misplaced_own_options(arguments):
        yield f"{own} was not used by jobmon; put it first: `jobmon submit {own} ...`"


def _misplaced_own_options(arguments: Sequence[str]) -> list[str]:
    """Return the options of jobmon among the arguments of sbatch and of the script."""
    pairs = {*pairwise(arguments), *(tuple(word.split("=", 1)) for word in arguments)}
    # programs may have a --backend too, but with other values
    backends = [f"--backend {name}" for name in backend_names() if ("--backend", name) in pairs]
    names = [word.partition("=")[0] for word in arguments]
    with_value = [name for name in ("--job-config", "--group") if name in names]
    flags = [flag for flag in ("--sentinel", "--no-agent", "--checked") if flag in arguments]
    return [*flags, *with_value, *backends]


def state_id(prefix: str, ref: JobRef) -> str:
    """Return a name for a state file that no other submission has, although job ids are reused."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    # "-" separates the parts: `JobStore` reads the job id from the name
    safe = "".join(letter if letter.isalnum() else "." for letter in prefix)
    return f"{safe}-{ref.job_id}-{stamp}{ref.key and '-' + ref.key.strip('+')}"
