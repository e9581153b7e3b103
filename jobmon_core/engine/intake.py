"""Taking jobs on: those that are submitted here, and those that were submitted otherwise."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobmon_core.domain.errors import AlreadyWatched, JobmonError, SlurmUnavailable, UnknownJob
from jobmon_core.domain.job import LogPaths, WatchedJob
from jobmon_core.domain.jobref import JobRef
from jobmon_core.domain.observation import AccountingRow, Record, Reply, Unreachable
from jobmon_core.engine.detach import Launcher
from jobmon_core.engine.logs import BY_USER
from jobmon_core.engine.wiring import Workshop
from jobmon_core.scheduler.contract import Scheduler, Submitted

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes jobs on for one user; ``tell`` says things to that user."""

    shop: Workshop
    launcher: Launcher
    tell: Tell

    def submit(self, backend: str | None, arguments: Sequence[str]) -> int:
        """Submit as the scheduler's own command would, and watch the job; return that command's exit code.

        Raises:
            ConfigInvalid: before anything was submitted.
            SchedulerMissing: there is nothing to submit to.
        """
        config = self.shop.configuration()
        name = backend or config.backend
        scheduler = self.shop.scheduler(name)
        result = scheduler.submit(arguments, lambda submitted: self._take_submitted(name, submitted))
        if result.note:
            self.tell(result.note)
        if result.job and not (config.success_webhook and config.error_webhook):
            self.tell(
                "no Discord webhook is configured for every outcome: run `jobmon init`; "
                "until then `jobmon status` tells how the job ended"
            )
        return result.exit_code

    def _take_submitted(self, backend: str, submitted: Submitted) -> None:
        """Watch a job that was submitted this moment; whatever happens, the job itself is in the queue."""
        job = WatchedJob(
            id=_state_id(submitted.cluster or backend, submitted.ref),
            job_id=submitted.ref.job_id,
            taken_s=self.shop.clock.now(),
            backend=backend,
            cluster=submitted.cluster,
            remote=bool(submitted.cluster),
            user=_user(),
        )
        try:
            self._watch(job)
        except JobmonError as error:
            self.tell(
                f"job {submitted.ref} is submitted, but not watched: {error}; `jobmon recover` tries again"
            )
        else:
            self.tell(f"watching job {submitted.ref}; `jobmon status` shows it")

    def _watch(self, job: WatchedJob) -> None:
        self.shop.store.save(job)
        self.launcher.start([job.id])

    def watch(self, ref: JobRef, backend: str | None, logs: LogPaths) -> None:
        """Attach a monitor to a job that waits, runs, or is over.

        Raises:
            AlreadyWatched: somebody watches it.
            UnknownJob: the scheduler does not know it.
            SlurmUnavailable: the scheduler can't be asked now.
        """
        name = backend or self.shop.configuration().backend
        self._refuse_second(ref, name)
        known = _look_up(self.shop.scheduler(name), ref)
        self._watch(
            WatchedJob(
                id=_state_id(name, ref),
                job_id=ref.job_id,
                taken_s=self.shop.clock.now(),
                backend=name,
                scope=ref.key,
                user=known.user or _user(),
                name=known.name,
                partition=known.partition,
                logs=LogPaths(logs.stdout, logs.stderr, BY_USER)
                if logs.stdout or logs.stderr
                else LogPaths(),
            )
        )

    def _refuse_second(self, ref: JobRef, backend: str) -> None:
        for job in self.shop.store.find(ref):
            if job.closed or job.backend != backend or job.remote:
                continue
            owner = self.shop.owner_record(job.id).read()
            who = f"monitor {owner[0].pid} on {owner[0].host}" if owner else "a monitor that is gone"
            raise AlreadyWatched(
                f"job {ref} is watched already, by {who}; `jobmon show {job.ref}` shows it, "
                "`jobmon recover` restarts monitors that died"
            )


def _state_id(prefix: str, ref: JobRef) -> str:
    """Return a name for a state file that no other submission has: job ids come back, moments do not."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    safe = "".join(letter if letter.isalnum() or letter == "." else "." for letter in prefix)
    return f"{safe}-{ref.job_id}-{stamp}{ref.key and '-' + ref.key.strip('+')}"


def _user() -> str:
    """Return the name of the user whose jobs these are; the number where it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _look_up(scheduler: Scheduler, ref: JobRef) -> Record | AccountingRow:
    """Find a job, in slurmctld's memory or in accounting."""
    record = scheduler.ask_record(ref.job_id)
    if isinstance(record, tuple):
        found = [each for each in record if _is_part(each, ref)]
        if found:
            return found[0]
    ledger = scheduler.ask_accounting([ref.job_id])
    if isinstance(ledger, Reply):
        rows = [row for row in scheduler.read_accounting(ledger.text, ref.job_id) if _is_part(row, ref)]
        if rows:
            return rows[-1]
    silent = [answer.why for answer in (record, ledger) if isinstance(answer, Unreachable)]
    if silent:
        raise SlurmUnavailable(f"job {ref} can't be looked up now: {'; '.join(silent)}; try again later")
    raise UnknownJob(
        f"job {ref} is not known: neither squeue nor sacct lists it; check the id with squeue --me"
    )


def _is_part(row: Record | AccountingRow, ref: JobRef) -> bool:
    if not ref.key or row.ref.key == ref.key:
        return True
    return ref.task is not None and row.waiting is not None and ref.task in row.waiting
