"""Taking on the jobs that are submitted through jobmon. Its imports are few: the user waits for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app import logout_warning
from jobmon_core.domain.channels import Route
from jobmon_core.domain.errors import AlreadyWatched, JobmonError
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.system.process import user_name

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import Submitted

Notify = Callable[[str], None]
_CLOCKS_DIFFER_S = 86_400.0  # at most, ours from that which stamps submissions; ids come back later


@dataclass(frozen=True, slots=True)
class SubmitJob:
    """Takes jobs on for one user; ``tell`` says things to that user.

    ``post`` is called with each submitted job that has a state file, after its monitor was started.
    """

    ctx: Context
    starter: MonitorStarter
    tell: Notify
    post: Callable[[NewJob], None] | None = None

    def submit(self, backend: str | None, arguments: Sequence[str]) -> int:
        """Submit as the scheduler's own command would, and watch the job; return that command's exit code.

        Raises:
            ConfigInvalid: before anything was submitted.
            SchedulerMissing: there is nothing to submit to.
        """
        config = self.ctx.configuration()
        name = backend or config.backend
        result = self.ctx.submitter(name).submit(
            arguments, lambda submitted: self._take_submitted(name, submitted)
        )
        if result.note:
            self.tell(result.note)
        if result.job:
            self._warn_of_missing_webhooks(config)
            if words := logout_warning.warning(self.ctx.home, user_name()):
                self.tell(words)
        return result.exit_code

    def _warn_of_missing_webhooks(self, config: Config) -> None:
        missing = [route.value for route in Route if not config.channels_for(route)]
        if missing:
            self.tell(
                f"no Discord webhook is configured for {' and '.join(missing)} messages: run `jobmon init`; "
                "until then `jobmon status` tells how the job ended"
            )

    def _take_submitted(self, backend: str, submitted: Submitted) -> None:
        """Watch a job that was submitted this moment; whatever happens, the job itself is in the queue."""
        job = NewJob(
            id=state_id(submitted.cluster or backend, submitted.ref),
            job_id=submitted.ref.job_id,
            registered_s=self.ctx.clock.now(),
            not_before_s=self.ctx.clock.now() - _CLOCKS_DIFFER_S,
            backend=backend,
            cluster=submitted.cluster,
            remote=bool(submitted.cluster),
            user=user_name(),
        )
        try:
            self.ctx.store.save(job)
        except JobmonError as error:  # there is no state file that `recover` could find
            self._tell_unwatched(submitted, error, f"jobmon watch {submitted.ref}")
            return
        try:
            self.start(job)
        except (JobmonError, OSError) as error:  # whatever it was, sbatch's exit code stands
            self._tell_unwatched(submitted, error, "jobmon recover")
        else:
            self.tell(f"watching job {submitted.ref}; `jobmon status` shows it")
        if self.post:
            self.post(job)

    def _tell_unwatched(self, submitted: Submitted, error: Exception, remedy: str) -> None:
        self.tell(f"job {submitted.ref} is submitted, but not watched: {error}; `{remedy}` tries again")

    def start(self, job: WatchedJob | NewJob) -> None:
        """Start a monitor, unless a `jobmon recover` that ran meanwhile has started one already."""
        with suppress(AlreadyWatched):
            self.starter.start([job.id])


def state_id(prefix: str, ref: JobRef) -> str:
    """Return a name for a state file that no other submission has: job ids come back, moments do not."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    safe = "".join(letter if letter.isalnum() or letter == "." else "." for letter in prefix)
    return f"{safe}-{ref.job_id}-{stamp}{ref.key and '-' + ref.key.strip('+')}"
