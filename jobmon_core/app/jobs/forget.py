"""Remove the records of jobs that are not watched any more and have no message left to send."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import by_id, last_change_s, name_of, no_record
from jobmon_core.domain.errors import AlreadyWatched, StorageFailed, UnknownJob
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.lifecycle.health import Health, find_watched, job_status, list_jobs
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.owner import acquire_job
from jobmon_core.store.remove_job import remove_job_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.lifecycle.health import JobStatus

_RELEASE_TIMEOUT_S = 10.0  # a monitor may be reading the logs of other jobs
_CHECK_S = 0.1


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of the records of one job."""

    subject: str
    job: WatchedJob | None = None  # None for a state file that cannot be read
    kept_because: str = ""  # empty if the records were removed, or would be

    @property
    def removed(self) -> bool:
        """Whether the records were removed, or would be."""
        return not self.kept_because


def kept_because(status: JobStatus, *, drop_given_up: bool = False) -> str:
    """Return why the records of a job must stay, and what to do first; empty if they may go.

    ``drop_given_up``: messages that jobmon gave up sending do not count.
    """
    job = status.job
    if job.unwatched_s is not None:
        return ""
    waiting = [entry for entry in job.outbox if entry.is_open]
    if not job.closed:
        return f"jobmon still watches it; run `jobmon cancel {job.ref}` first"
    if waiting:
        problem = f" ({waiting[0].problem})" if waiting[0].problem else ""
        title = waiting[0].message.title
        return (
            f"its message {title!r} is not delivered yet{problem}; `jobmon show {job.ref}` shows when jobmon "
            "tries again"
        )
    if status.health is not Health.DONE:
        work = "updates its card" if job.outage_s is None else "reports an outage"
        work = work if job.restart_due_s is None else "is about to submit the next attempt"
        if job.record_due_s is not None:
            work = "adds its runs to the history"
        return f"its monitor still {work}; run `jobmon cancel {job.ref}` first"
    given_up = [entry for entry in job.outbox if entry.given_up]
    if given_up and not drop_given_up:
        return (
            f"its message {given_up[0].message.title!r} was never delivered: {given_up[0].given_up}; once "
            f"the channel works, `jobmon recover` sends it; `jobmon forget --given-up {job.ref}` drops it"
        )
    return ""


def forget(ctx: Context, ref: JobRef, *, drop_given_up: bool = False) -> Iterator[Removal]:
    """Remove the records that ``ref`` names: several if Slurm reused the job id; yield a result for each.

    Raise UnknownJob if jobmon has no record of it, or only one of the whole job that it is part of.
    """
    found = find_watched(ctx, ref)
    if not found:
        raise UnknownJob(f"{no_record(ref)}; `jobmon status --all` lists all recorded jobs")
    # the raw job id of an array task finds the record of the whole array
    records = [job for job in found if (job.job_id, job.watched_part) == (ref.job_id, ref.key)]
    if not records:
        whole = found[-1].ref
        raise UnknownJob(f"job {ref} is part of the record of job {whole}; use `jobmon forget {whole}`")
    for job in records:
        yield _remove(ctx, job, drop_given_up=drop_given_up)


def forget_runs(ctx: Context, jobs: Iterable[tuple[JobRef, str]]) -> int:
    """Delete the runs of jobs, or of parts of them, from the history; return how many. Their lines stay.

    With the id of a state file, only those of this submission: Slurm may use a job id again. Raise
    StorageFailed if the history cannot be read or written.
    """
    now_s = ctx.clock.now()
    with open_history(ctx.home.history) as history:
        runs = [
            run
            for ref, state_id in jobs
            for run in history.records(Wanted(job_id=ref.job_id, task=ref.key))
            if state_id in ("", run.state_id)
        ]
    if runs:
        deletions = [run.deletion(now_s) for run in runs]
        append(ctx.home.history, deletions, os.uname().nodename, now_s)
    return len(runs)


def prune(ctx: Context, older_than_s: float, *, dry_run: bool = False) -> Iterator[Removal]:
    """Remove the records of jobs that ended over ``older_than_s`` seconds ago; yield a result for each.

    Of a job whose end is not known, the end of the watching counts. State files that cannot be read come
    first. ``dry_run``: only yield what would be done.
    """
    latest_s = ctx.clock.now() - older_than_s
    entries = list(list_jobs(ctx))
    for file in entries:
        if isinstance(file, Unreadable):
            yield Removal(file.path.name, kept_because=file.why)
    for status in sorted((each for each in entries if not isinstance(each, Unreadable)), key=by_id):
        if status.job.closed and last_change_s(status.job) < latest_s:
            if dry_run:
                yield Removal(name_of(status.job), status.job, _kept_because(ctx, status))
            else:
                yield _remove(ctx, status.job)


def _kept_because(ctx: Context, status: JobStatus, *, drop_given_up: bool = False) -> str:
    job = status.job
    try:
        lineage = ctx.lineages.of_job(job)
    except StorageFailed as error:
        return str(error)
    if lineage and not lineage.ended_why and lineage.settings.mode is not RestartMode.OFF:
        return (
            f"it is an attempt of a lineage that may be restarted; `jobmon restart --off {job.ref}` ends that"
        )
    return kept_because(status, drop_given_up=drop_given_up)


def _remove_lineage(ctx: Context, job: WatchedJob) -> None:
    lineage = ctx.lineages.of_job(job)
    if lineage and all(ctx.store.is_missing(each.state_id) for each in lineage.attempts):
        ctx.lineages.remove(lineage.id)


def _remove(ctx: Context, job: WatchedJob, *, drop_given_up: bool = False) -> Removal:
    """As its owner, so that no monitor adopts it meanwhile."""
    why = _kept_because(ctx, job_status(ctx, job), drop_given_up=drop_given_up)
    if why:
        return Removal(name_of(job), job, why)
    try:
        lock = _acquired(ctx, job)
    except AlreadyWatched as error:
        return Removal(name_of(job), job, f"{error}; try again in a moment")
    try:
        if replace(ctx.store.load(job.id), unwatched_s=job.unwatched_s) != job:
            return Removal(name_of(job), job, "it has just changed; try again")
        remove_job_files(ctx.home, job.id)
        _remove_lineage(ctx, job)
    finally:
        os.close(lock)
    return Removal(name_of(job), job)


def _acquired(ctx: Context, job: WatchedJob) -> int:
    """Its monitor, which may still look whether Slurm runs it again, is asked to let it go."""
    owner = ctx.owner_record(job.id).read()
    if owner and owner[0].health() is Health.ALIVE:
        ctx.cancel_request(job.id).create()
        owner[0].wake()
        deadline_s = ctx.clock.now() + _RELEASE_TIMEOUT_S
        while ctx.owner_record(job.id).read() and ctx.clock.now() < deadline_s:
            ctx.clock.wait(_CHECK_S)
    return acquire_job(ctx.home.lock_file(job.id))
