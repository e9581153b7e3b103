"""Find the files of trackers to which a running task logs, and read on in them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.artifacts import lines_of_logs, script_variables, size_to_search
from jobmon_core.analysis.job_logs import (
    is_shared,
    logs_of_run,
    named_path,
    own_files,
    script_of,
    written_logs,
)
from jobmon_core.domain.artifacts.found import paths_in_script
from jobmon_core.domain.artifacts.tracker_places import Lead, leads_in_log, leads_in_script
from jobmon_core.domain.job.job_settings import TrackSettings
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.logs.progress.events.tracker_news import TrackerTold
from jobmon_core.domain.logs.progress.log.judge import with_total
from jobmon_core.domain.logs.progress.tracked import (
    counts_steps,
    one_run,
    progress_of,
    with_page,
    with_tracked,
)
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.store.job_files import progress_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jobmon_core.analysis.tracker_servers import TrackerServers
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.log.fold import ReaderState
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.store.lineages import LineageStore

_MAX_LEADS = 8
_MAX_SHOWN = 4
_NO_TRACK, _NOTHING_TOLD = TrackSettings(), TrackerTold()


@dataclass(frozen=True, slots=True)
class TrackerState:
    """Where the next look at a task's trackers goes on."""

    started_s: float | None = None  # of the run
    searched_bytes: int = -1  # of its logs; -1: they were not searched yet
    script: str = ""  # the path of the script that was searched; Slurm tells it only after some time
    leads: tuple[Lead, ...] = ()  # with absolute paths, those that say most first
    # what was read, by tracker and path
    places: dict[str, tuple[TrackerRun, ...]] = field(default_factory=dict)
    told: TrackerTold = _NOTHING_TOLD
    earlier: tuple[TrackerRun, ...] = ()  # what the run before this one logged to, of the same task


def look_at_trackers(
    job: WatchedJob,
    task: Task,
    logs: Sequence[str],
    before: TrackerState,
    earlier: Callable[[], tuple[TrackerRun, ...]],
    *,
    servers: TrackerServers | None = None,
) -> tuple[TrackerState, list[TrackerRun]]:
    """Return the runs that a task logs to, the one that tells its progress first, and the new state.

    ``earlier`` returns those of the run before this one; it is called once in a run. ``servers`` may be
    asked.
    """
    is_same = before.started_s == task.start_s
    state = before if is_same else TrackerState(task.start_s, earlier=earlier())
    state = _with_leads(state, job, task, logs)
    runs: dict[Tracker, TrackerRun] = {}
    places: dict[str, tuple[TrackerRun, ...]] = {}
    for lead in state.leads:
        known = runs.get(lead.tracker)
        if not lead.path or (known is not None and not lead.is_own):
            continue
        key = f"{lead.tracker} {lead.path}"
        places[key] = _read(job, lead, state.places.get(key, ()))
        run = _own_run(job, task, lead, state, places[key])
        # a program may train one model after another, each in a place of its own
        if run and (known is None or (run.updated_s or 0.0) > (known.updated_s or 0.0)):
            runs[lead.tracker] = run
    pages = {(lead.tracker, lead.run): _page(lead, task, servers) for lead in state.leads if lead.url}
    shown = sorted(_with_pages(runs, pages), key=lambda run: (run.step is None, not counts_steps(run)))
    # the next look tells only new losses
    kept = {key: tuple(replace(run, losses=()) for run in found) for key, found in places.items()}
    return replace(state, places=kept), shown[:_MAX_SHOWN]


def runs_of_ended(job: WatchedJob, task: Task) -> list[TrackerRun]:
    """Return the runs to which an ended task logged that nobody followed."""
    logs = written_logs(job, task, logs_of_run(job, task))
    return look_at_trackers(job, task, logs, TrackerState(), tuple)[1]


def tracked_progress(
    runs: Sequence[TrackerRun], settings: JobSettings, reader: ReaderState
) -> Progress | None:
    """Return how far the runs are, of which the first one counts.

    The total is the user's, that of the runs, or one that the log announces.
    """
    track, found = settings.track or _NO_TRACK, None
    for run in runs:
        found = with_tracked(found, progress_of(run, track.metrics, track.loss))
    if found is None:
        return None
    logs = [log.shown for log in reader.files]
    found = replace(found, end_marker=next((log.end_marker for log in logs if log.end_marker), ""))
    total: float | None = settings.total_items
    if not total and counts_steps(runs[0]):
        total = found.total or max((log.totals.get("step") or 0.0 for log in logs), default=0.0)
    return with_total(found, total or None)


def _with_leads(state: TrackerState, job: WatchedJob, task: Task, logs: Sequence[str]) -> TrackerState:
    """Return the state with new leads, if there may be any: if its logs have grown by half."""
    size_bytes = size_to_search(task, logs, state.searched_bytes)
    if state.searched_bytes >= 0 and size_bytes is None and job.command == state.script:
        return state
    leads = [*_of_user(job, task)]
    if own_files(job, task, Origin.FOUND).can_be_seen:
        named = {lead.tracker for lead in leads}
        found = _found(state, job, task, logs)
        leads += [_absolute(job, lead) for lead in found if lead.url or lead.tracker not in named]
    state = replace(state, searched_bytes=max(size_bytes or 0, state.searched_bytes), script=job.command)
    return replace(state, leads=tuple(dict.fromkeys(leads))[:_MAX_LEADS])


def _found(state: TrackerState, job: WatchedJob, task: Task, logs: Sequence[str]) -> Iterator[Lead]:
    """Yield the leads in the logs and in the script, those to a place of the run alone first."""
    in_logs = leads_in_log(lines_of_logs(logs))
    yield from (lead for lead in in_logs if lead.is_own)
    yield from (*in_logs, *state.leads)
    if job.command != state.script:
        yield from _in_script(job, task)


def _of_user(job: WatchedJob, task: Task) -> Iterator[Lead]:
    for name, path in (job.own_settings.track or _NO_TRACK).places.items():
        yield Lead(
            Tracker(name), named_path(job, task, path), is_own="%" in path and not is_shared(job, path)
        )


def _in_script(job: WatchedJob, task: Task) -> list[Lead]:
    text, variables = f"{job.command}\n{script_of(job)}", script_variables(job, task)
    found = leads_in_script(text, variables, dict.fromkeys(paths_in_script(text, variables)))
    if not job.is_array:
        return found
    # what all tasks of an array share may be of any of them
    others = leads_in_script(text, {**variables, "SLURM_ARRAY_TASK_ID": "", "SLURM_JOB_ID": ""})
    return [lead for lead in found if lead not in others]


def _absolute(job: WatchedJob, lead: Lead) -> Lead:
    if not lead.path:
        return lead
    path = os.path.join(job.workdir, os.path.expanduser(lead.path))  # noqa: PTH111, PTH118 - texts
    return lead._replace(path=os.path.normpath(path))


def _read(job: WatchedJob, lead: Lead, before: tuple[TrackerRun, ...]) -> tuple[TrackerRun, ...]:
    from jobmon_core.observe.trackers.readers import look  # most jobs log to no tracker

    track = job.own_settings.track or _NO_TRACK
    try:
        return look(lead.tracker, lead.path, before, (*track.metrics, track.loss))
    except Exception as error:  # noqa: BLE001 - a file that another program wrote must not cost the progress
        return (_unknown(lead, f"could not be read: {type(error).__name__}"),)


def _unknown(lead: Lead, why: str) -> TrackerRun:
    return TrackerRun(lead.tracker, "", place=lead.path, partial=why)


def _own_run(
    job: WatchedJob, task: Task, lead: Lead, state: TrackerState, found: Sequence[TrackerRun]
) -> TrackerRun | None:
    """Return the run of this task at a place, or one that only says why it is not known."""
    is_named = lead.tracker in (job.own_settings.track or _NO_TRACK).places
    own = own_files(job, task, Origin.NAMED if is_named else Origin.FOUND)
    # one without an id only says why nothing is known
    runs = [run for run in found if lead.run in ("", run.run_id, run.name) or not run.run_id]
    resumed = {(each.tracker, each.run_id) for each in state.earlier}
    runs = [run for run in runs if _is_own(run, own, resumed, may_be_older=lead.is_own)]
    if len(runs) > 1:
        why = f"{len(runs)} runs in {lead.path} may be this job's; name its own with `track`"
        return one_run(runs) or _unknown(lead, why)
    if is_named and not runs:  # say why there is none where the user expects one
        whys = [run.partial for run in found if not run.run_id]
        return _unknown(lead, (*whys, "holds no run of this job")[0])
    return next(iter(runs), None)


def _is_own(run: TrackerRun, own: OwnFiles, resumed: set[tuple[Tracker, str]], *, may_be_older: bool) -> bool:
    """Whether this task's run wrote it; in a place of many runs, only what also began with it counts.

    ``resumed`` are those to which the run before it logged.
    """
    try:
        status = os.stat(run.place)  # noqa: PTH116 - a text
    except (OSError, ValueError):
        return False
    began_s = run.resumed_s or run.started_s
    may_be_older |= began_s is None or (run.tracker, run.run_id) in resumed
    if not may_be_older and (began_s or 0.0) < own.since_s:
        return False
    return own.include(run.updated_s or status.st_mtime, status.st_uid)


def _page(lead: Lead, task: Task, servers: TrackerServers | None) -> TrackerRun:
    """Return the run whose page a log names, with what its server says if it may be asked."""
    if servers is None:
        return TrackerRun(lead.tracker, lead.run, url=lead.url)
    return servers.about(lead, task)


def _with_pages(
    runs: Mapping[Tracker, TrackerRun], pages: dict[tuple[Tracker, str], TrackerRun]
) -> Iterator[TrackerRun]:
    """Yield the runs with what their pages say; those of which only that is known follow, latest first."""
    for run in runs.values():
        page = pages.pop((run.tracker, run.run_id), None)
        yield with_page(run, page) if page else run
    others = sorted(pages.values(), key=lambda page: -(page.started_s or 0.0))
    yield from (page for page in others if page.tracker not in runs)


def runs_before(
    known: tuple[TrackerRun, ...],
    job: WatchedJob,
    lineages: LineageStore | None,
    file_of: Callable[[str], Path],
) -> tuple[TrackerRun, ...]:
    """Return the ``known`` runs of a task, before its latest start, else those of the attempt before."""
    place = job.attempt
    if known or place is None or not place.number or lineages is None:
        return known
    attempt = lineages.load(place.lineage).attempt(place.number - 1)
    if attempt is None:
        return ()
    progress = progress_file(file_of(attempt.state_id)).read()
    return tuple(run for task in progress.tasks.values() for run in task.tracked)
