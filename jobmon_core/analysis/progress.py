"""Update the progress files of running jobs."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from jobmon_core.analysis.artifacts import (
    Listings,
    artifacts_key,
    look_at_all_found,
    look_at_artifacts,
    outputs_elsewhere,
    own_artifacts,
)
from jobmon_core.analysis.followed_task import ReadTask, TaskLook, look_at_pace, look_at_tracker_news
from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    last_write_s,
    log_files,
    logs_of_run,
    own_files,
    own_files_here,
    written_logs,
)
from jobmon_core.analysis.launch_facts import look_at_launch
from jobmon_core.analysis.live_errors import look_for_errors
from jobmon_core.analysis.tracked import look_at_trackers, runs_before, tracked_progress
from jobmon_core.analysis.triage import look_at_measures, with_explained_stalls
from jobmon_core.analysis.usual import look_at_usual, look_at_wait
from jobmon_core.domain.artifacts.model import Artifacts, Listing
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.resumed import ResumeState
from jobmon_core.domain.job.tracking.tasks import waiting_task
from jobmon_core.domain.logs.progress.events.errors import ErrorWatch
from jobmon_core.domain.logs.progress.events.event import Event, EventKind, Followed
from jobmon_core.domain.logs.progress.history import add_sample, is_sound
from jobmon_core.domain.logs.progress.log.fold import ReaderState
from jobmon_core.domain.logs.progress.log.judge import judge, with_total, with_total_of_checkpoint
from jobmon_core.domain.logs.progress.model import History, Progress, Sample, WorkerProgress
from jobmon_core.domain.logs.progress.tracked import compact, may_lead_log, samples_of, with_tracked
from jobmon_core.domain.logs.progress.workers import worker_progress
from jobmon_core.domain.messages.periodic import periodic_event
from jobmon_core.domain.node.launch.judge import without_repeats
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.observe.progress.reader import read_progress
from jobmon_core.observe.progress.trainer_state import newest_trainer_state
from jobmon_core.store.job_files import MAX_BYTES
from jobmon_core.store.json_file import JsonFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jobmon_core.analysis.tracker_servers import TrackerServers
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.store.lineages import LineageStore
    from jobmon_core.store.telemetry import TaskTelemetry

    TelemetryOf = Callable[[str, str], TaskTelemetry]  # of a state id and the key of a task
    FilesElsewhere = Callable[[WatchedJob], tuple[Listing, ...] | None]

T = TypeVar("T")

_MAX_TASKS = 32  # so many running ones are followed, and as many ended ones kept
_MAX_EVENTS, _MAX_SHOWN_ONLY = 200, 30
_OVER = (Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)
_SHOWN_ONLY = (EventKind.MILESTONE, EventKind.CHECKPOINT, EventKind.LAUNCHED)
_NO_ARTIFACTS = Artifacts()
# each returns a task after one more look, and what is new
_FOLLOWERS = (
    look_at_pace,
    look_for_errors,
    look_at_launch,
    look_at_measures,
    look_at_usual,
    look_at_tracker_news,
)


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The content of a progress file: a `JobProgress`, and where the next look continues."""

    updated_s: float = 0.0
    tasks: dict[str, ReadTask] = field(default_factory=dict)  # by task key
    events: tuple[Event, ...] = ()
    artifacts: dict[str, Artifacts] = field(default_factory=dict)
    resume: ResumeState = field(default_factory=ResumeState)  # of an attempt of a lineage

    upgraded = staticmethod(JobProgress.upgraded)


class _LookInputs(NamedTuple):
    now_s: float
    user_patterns: Path | None
    telemetry_of: TelemetryOf | None
    listings: Listings
    files_elsewhere: FilesElsewhere
    lineages: LineageStore | None
    file_of: Callable[[str], Path]
    every_s: float
    history: Path | None
    servers: TrackerServers | None


def follow_progress(
    jobs: Sequence[WatchedJob],
    file_of: Callable[[str], Path],
    now_s: float,
    user_patterns: Path | None = None,
    telemetry_of: TelemetryOf | None = None,
    *,
    files_elsewhere: FilesElsewhere = lambda _: None,
    lineages: LineageStore | None = None,
    every_s: float = 0.0,
    history: Path | None = None,
    servers: TrackerServers | None = None,
) -> dict[str, Followed]:
    """Read on in the logs of these jobs, look at their outputs, and update their progress files.

    Without ``telemetry_of``, what agents measured is not judged; without ``lineages``, not whether an attempt
    resumed; without ``history``, the folder of ended runs, no run is compared with those. ``files_elsewhere``
    returns the outputs of a job whose files cannot be read here. ``every_s`` is the period of messages about
    how far jobs are, where the job itself names none; 0: there are none. ``servers`` of trackers are asked.
    """
    more = (Listings(), files_elsewhere, lineages, file_of, every_s, history, servers)
    look = _LookInputs(now_s, user_patterns, telemetry_of, *more)
    found = {job.id: _follow_safely(job, file_of(job.id), look) for job in jobs}
    if servers:
        servers.close()
    return found


def _follow_safely(job: WatchedJob, path: Path, look: _LookInputs) -> Followed:
    """An error with a job, e.g. a damaged file or a full disk, must not affect the others."""
    try:
        return _follow(job, JsonFile(path, ProgressState, MAX_BYTES, durable=False), look)
    except JobmonError as error:
        return Followed(problem=str(error))
    except Exception:  # noqa: BLE001 - an internal error, which the monitor logs
        import traceback  # only here: it is rarely needed

        return Followed(problem=traceback.format_exc(limit=-3))


def _follow(job: WatchedJob, file: JsonFile[ProgressState], look: _LookInputs) -> Followed:
    before = file.read()
    tasks = _tasks_to_read(job, before)
    logs = {task.key: written_logs(job, task, logs_of_run(job, task)) for task in tasks}
    record = _with_artifacts(before, job, tasks, logs, look)
    for task in tasks:
        record = _with_task(record, task.key, _read(record, job, task, logs[task.key], look))
    searched = _logs_to_search(job, tasks, logs)
    for task in filter(_runs, tasks):
        record = _with_look(record, job, task, searched[task.key], look)
    record = _with_resume(record, job, tasks, look)
    wait_s = None
    waiting = waiting_task(job)
    if waiting and look.history:
        key, known = waiting.key, record.tasks.get(waiting.key, ReadTask())
        followed, found, wait_s = look_at_wait(known, job, waiting, look.history, look.now_s)
        record = _told(_with_task(record, key, followed), key, found) if found else record
    if record != before:
        file.write(replace(record, updated_s=look.now_s))
    rechecks = (task.errors.recheck_s for task in record.tasks.values())
    every_s = job.own_settings.progress_every_s
    every_s = look.every_s if every_s is None else every_s
    periodic = periodic_event(job, record.tasks, every_s, look.now_s, _clock) if every_s else None
    events = (*record.events, periodic) if periodic else record.events
    return Followed(events, recheck_s=min(filter(None, rechecks), default=None), wait_s=wait_s)


def _clock(at_s: float, now_s: float) -> str:
    at, now = time.localtime(at_s), time.localtime(now_s)
    return time.strftime("%H:%M" if at[:3] == now[:3] else "%Y-%m-%d %H:%M", at)


def _with_look(
    record: ProgressState, job: WatchedJob, task: Task, searched: Sequence[str], look: _LookInputs
) -> ProgressState:
    key = task.key
    seen = TaskLook(
        look.now_s,
        job,
        task,
        own_artifacts(job, record.artifacts.get(key, _NO_ARTIFACTS)),
        last_write_s(record.tasks[key].logs),
        look.telemetry_of(job.id, key) if look.telemetry_of else None,
        searched,
        look.user_patterns,
        look.history,
    )
    for follow in _FOLLOWERS:
        followed, found = follow(record.tasks[key], seen)
        record = _told(_with_task(record, key, followed), key, found)
    return replace(record, events=with_explained_stalls(record.events, look.now_s))


def _with_task(record: ProgressState, key: str, followed: ReadTask) -> ProgressState:
    """Return the record with a task, without all but the latest `_MAX_TASKS` that are not read any more.

    One that does not run now, e.g. because it is suspended, keeps its state.
    """
    tasks = {**record.tasks, key: followed}
    over = [name for name, each in tasks.items() if each.reader is None]
    for name in over[:-_MAX_TASKS]:
        del tasks[name]
    return replace(record, tasks=tasks)


def _told(record: ProgressState, key: str, found: Iterable[Event]) -> ProgressState:
    new = (replace(event, task=key) for event in found)
    return replace(record, events=_latest((*record.events, *without_repeats(new, record.events, key))))


def _with_resume(
    record: ProgressState, job: WatchedJob, tasks: Sequence[Task], look: _LookInputs
) -> ProgressState:
    place = job.attempt
    if place is None or look.lineages is None or len(tasks) != 1:
        return record
    from jobmon_core.analysis.restarts.resumed import AttemptLook, follow_attempt  # most jobs have no lineage

    seen = AttemptLook(job, place, tasks[0], record.tasks[tasks[0].key], look.now_s)
    resume, found = follow_attempt(record.resume, seen, look.lineages, look.file_of)
    return _told(replace(record, resume=resume), tasks[0].key, found)


def _tasks_to_read(job: WatchedJob, record: ProgressState) -> list[Task]:
    """Return the tasks that have just ended, then up to 32 that run.

    One that no look saw while it ran is read if its total is known, or if another attempt may follow.
    """
    settings = job.own_settings
    is_wanted = settings.total_items is not None or settings.attempt is not None
    unread = {key for key, task in job.tasks.items() if task.end and not task.diagnosis and is_wanted}
    is_read = {key for key, each in record.tasks.items() if each.reader}
    to_finish = {*is_read, *(unread - set(record.tasks))}
    ended = [task for task in job.tasks.values() if _is_over(task) and task.key in to_finish]
    running = [task for task in job.tasks.values() if not _is_over(task) and task.state.phase is Phase.ACTIVE]
    return ended + running[:_MAX_TASKS]


def _runs(task: Task) -> bool:
    return task.state is JobState.RUNNING and task.end is None


def _is_over(task: Task) -> bool:
    return task.end is not None or task.state.phase in _OVER


def _logs_to_search(
    job: WatchedJob, tasks: Sequence[Task], logs: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the logs in which to search for failures of each running task.

    One that components of a het job share is searched once; one that tasks of an array share is not, because
    it does not show which of them failed.
    """
    writers = Counter(path for paths in logs.values() for path in paths)
    found, taken = dict[str, list[str]](), set[str]()
    for task in filter(_runs, tasks):
        own = [path for path in logs[task.key] if not (job.is_array and writers[path] > 1)]
        found[task.key] = [path for path in own if path not in taken]
        taken.update(own)
    return found


def _with_artifacts(
    record: ProgressState,
    job: WatchedJob,
    tasks: Sequence[Task],
    logs: Mapping[str, Sequence[str]],
    look: _LookInputs,
) -> ProgressState:
    if (elsewhere := look.files_elsewhere(job)) is not None:
        return replace(record, artifacts=outputs_elsewhere(record.artifacts, elsewhere, look.now_s))
    known = [*logs.values(), *(each.logs for each in record.tasks.values())]
    all_logs = {path for paths in known for path in paths}
    kept = {"", *record.tasks, *logs}
    found = {key: each for key, each in record.artifacts.items() if key in kept}
    # tasks that share their folders have the same key, and need one look
    for key, task in {artifacts_key(job, task): task for task in tasks}.items():
        if key is not None:
            before = found.get(key, _NO_ARTIFACTS)
            found[key], saved = look_at_artifacts(job, task, all_logs, before, look.now_s)
            record = _told(record, key, saved)
    unnamed = [task for task in tasks if artifacts_key(job, task) is None]
    looks = look_at_all_found(job, unnamed, all_logs, found, look.now_s, listings=look.listings)
    for key, seen, saved in looks:
        found |= {key: seen} if seen != _NO_ARTIFACTS else {}
        record = _told(record, key, saved)
    return replace(record, artifacts=found)


def _read(
    record: ProgressState, job: WatchedJob, task: Task, logs: tuple[str, ...], look: _LookInputs
) -> ReadTask:
    settings, now_s = settings_of_task(job), look.now_s
    known, has_ended = record.tasks.get(task.key, ReadTask()), task.end is not None
    reader = read_progress(
        logs, known.reader, settings.progress_patterns, ended=has_ended, worker_logs=job.worker_logs
    )
    written_s = min(now_s, last_write_s(logs) or now_s)
    files = own_files(job, task)
    of_log = with_known_total(reader.progress, settings, checkpoint_folder(job, task), files)
    earlier = partial(runs_before, known.tracked, job, look.lineages, look.file_of)
    tracking, runs = look_at_trackers(job, task, logs, known.tracking, earlier, servers=look.servers)
    run, tracked = next(iter(runs), None), tracked_progress(runs, settings, reader)
    progress = with_tracked(of_log, tracked, may_lead=may_lead_log(run, reader.progress))
    before = _of_unit(_of_this_run(known, task), progress)
    is_of_this_run = own_files_here(job, task).include(written_s)
    samples = list(samples_of(run, tracked, before.history, now_s)) if run and tracked else []
    if progress and of_log and progress.format == of_log.format:
        seen = Sample(written_s, progress.current, progress.loss, progress.grad_norm)
        samples = [seen] if is_of_this_run else []
    history = reduce(add_sample, samples, before.history)
    main_logs = log_files(job, task)
    worker_logs = [path for path in logs if path not in main_logs or path in job.worker_logs]
    return replace(
        before,
        progress=progress,
        logs=logs,
        history=history,
        workers=_workers(before.workers, worker_logs, reader, now_s),
        has_output=is_of_this_run and any(log.size for log in reader.files),
        reader=None if has_ended else reader,
        errors=ErrorWatch() if has_ended else before.errors,
        tracked=compact(runs, progress),
        tracking=tracking,
    )


def settings_of_task(job: WatchedJob) -> JobSettings:
    """Return what the user said about each task; the total of items is that of all together."""
    settings = job.own_settings
    return settings if len(job.tasks) <= 1 else replace(settings, total_items=None)


def with_known_total(
    progress: Progress | None, settings: JobSettings, folder: str, own: OwnFiles
) -> Progress | None:
    """Return the progress with the total of the settings, the log, or the newest checkpoint."""
    progress = with_total(progress, settings.total_items)
    if not folder or progress is None or progress.total is not None:
        return progress
    return with_total_of_checkpoint(progress, newest_trainer_state(folder, own))


def _workers(
    before: Mapping[str, WorkerProgress], paths: Sequence[str], reader: ReaderState, now_s: float
) -> dict[str, WorkerProgress]:
    logs = [(Path(each.path).name, each) for each in reader.files if each.path in paths and each.size]
    return {
        name: worker_progress(
            before.get(name), judge(log.shown), min(now_s, last_write_s((log.path,)) or now_s)
        )
        for name, log in sorted(logs, key=lambda each: (len(each[0]), each[0]))  # worker_2 before worker_10
    }


def _of_this_run(known: ReadTask, task: Task) -> ReadTask:
    samples = known.history.samples
    is_usable = samples and is_sound(known.history)
    if is_usable and (task.start_s is None or samples[-1].at_s >= task.start_s):
        return known
    return replace(known, history=History(started_s=task.start_s))


def _of_unit(known: ReadTask, progress: Progress | None) -> ReadTask:
    """If a task now counts in another unit, drop the old samples, without reporting a restart."""
    if progress is None or known.progress is None or known.progress.unit == progress.unit:
        return known
    history = History(started_s=known.history.started_s)
    return replace(known, history=history, known_problems=replace(known.known_problems, run_started_s=None))


def _latest(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the latest 200 events, at most 30 of them milestones, checkpoints and launches."""
    dropped = [event for event in events if event.kind in _SHOWN_ONLY][:-_MAX_SHOWN_ONLY]
    return tuple(event for event in events if event not in dropped)[-_MAX_EVENTS:]
