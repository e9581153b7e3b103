"""All that is known of a job, computed once: what patrols, health reports and handover pages read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from jobmon_core.analysis.done import look_for_done
from jobmon_core.analysis.ending.outputs import own_outputs, read_results
from jobmon_core.app.jobs.overview import in_order, is_waiting
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.domain.logs.diagnosis.model import Quote  # noqa: TC001 - the codec reads this module's hints
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.app.live.tasks import LiveTask, TaskAgents
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

_TIMEOUT_S = 20.0
_MAX_RESULTS = 6  # of one job
_MAX_TASKS = 64  # whose markers are looked at


@dataclass(frozen=True, slots=True)
class JobFiles:
    """What the files of a job show."""

    results: tuple[Quote, ...] = ()
    markers: dict[str, bool] = field(default_factory=dict)  # e.g. ``marker /a/DONE`` -> whether it is there


_NO_FILES = JobFiles()


@dataclass(frozen=True, slots=True)
class JobView:
    """All that jobmon knows of a job."""

    status: JobStatus
    progress: JobProgress
    tasks: tuple[LiveTask, ...]
    files: JobFiles
    age_s: float | None  # of the scheduler's last answer about it, if that is older than usual

    @property
    def job(self) -> WatchedJob:
        """What the monitor knows of it."""
        return self.status.job


def job_view(
    ctx: Context,
    known: Overview,
    status: JobStatus,
    files: JobFiles = _NO_FILES,
    agents: Mapping[str, TaskAgents] = MappingProxyType({}),
) -> JobView:
    """Return all that is known; ``files`` and ``agents`` are those that were read."""
    job, now_s = status.job, ctx.clock.now()
    progress = known.progress.get(job.id) or ctx.progress_file(job.id).read()
    age_s = known.age_s(job, now_s)
    if not age_s and job.stale_since_s:
        age_s = now_s - job.stale_since_s
    return JobView(status, progress, (*live_tasks(status, progress, now_s, agents=agents),), files, age_s)


def read_files(ctx: Context, jobs: Iterable[WatchedJob]) -> tuple[dict[str, JobFiles], str]:
    """Read the results and markers that jobs name, within 20 seconds; return them by state id.

    Also return why they are not known. Of jobs on other machines, the markers are those of the latest look
    there.
    """
    markers = {job.id: (job, machine.markers() if (machine := ctx.machine(job)) else None) for job in jobs}
    there = {state_id: JobFiles(markers=found) for state_id, (_, found) in markers.items() if found}
    unseen = [job for job, found in markers.values() if found is None]
    wanted = [job for job in unseen if job.own_settings.results or job.own_settings.done]
    if not wanted:
        return there, ""

    def read() -> dict[str, JobFiles]:
        return {job.id: _files_of(job) for job in wanted}

    try:
        here = Helper().run(dict[str, JobFiles], read, _TIMEOUT_S)
    except HelperFailed as error:
        return there, error.reason
    return {**there, **here}, ""


def _files_of(job: WatchedJob) -> JobFiles:
    return JobFiles(tuple(_uniquely_named(_results(job)))[:_MAX_RESULTS], dict(_markers(job)))


def _markers(job: WatchedJob) -> Iterator[tuple[str, bool]]:
    if job.own_settings.done is None:
        return
    for task in in_order(list(job.tasks.values()))[:_MAX_TASKS]:
        if not is_waiting(task):
            look = look_for_done(job, task)
            yield from ((name, False) for name in look.missing)
            yield from ((name, True) for name in look.found)


def _results(job: WatchedJob) -> Iterator[Quote]:
    for task in in_order(list(job.tasks.values())):
        if task.end and task.end.outcome is Outcome.SUCCESS and task.diagnosis:
            yield from task.diagnosis.results  # as they were at its end
        elif not is_waiting(task):
            yield from read_results(job, task, own_outputs(job, task)).quotes


def _uniquely_named(quotes: Iterable[Quote]) -> Iterator[Quote]:
    """Number quotes of one name, as the tasks of an array have; drop repetitions."""
    seen: dict[str, set[str]] = {}
    for quote in quotes:
        texts = seen.setdefault(quote.name, set())
        if quote.text in texts:
            continue
        texts.add(quote.text)
        if len(texts) == 1:
            yield quote
        else:
            yield replace(quote, name=f"{quote.name} ({len(texts)})")
