"""Update the progress files of running jobs.

Read their logs, look at their outputs and checkpoints, search for failures and judge what agents measured. A
monitor calls this in a short-lived helper process.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.artifacts import artifacts_key, look_at_artifacts, outputs_elsewhere, own_artifacts
from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    last_write_s,
    log_files,
    logs_of_run,
    start_of_run_s,
)
from jobmon_core.analysis.launch.facts import Seen as SeenAtLaunch
from jobmon_core.analysis.launch.verify import verify_launch
from jobmon_core.analysis.live_errors import LiveErrors
from jobmon_core.analysis.outputs.find import look_at_all_found
from jobmon_core.analysis.outputs.listings import Listings
from jobmon_core.analysis.progress_health import Look, with_known_problems
from jobmon_core.analysis.triage import Seen, triage_task, with_explained_stalls
from jobmon_core.domain.artifacts.model import Artifacts, Listing
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.launch.model import LaunchState
from jobmon_core.domain.launch.repeats import without_repeats
from jobmon_core.domain.progress.events.errors import ErrorWatch
from jobmon_core.domain.progress.events.event import Event, EventKind, Followed
from jobmon_core.domain.progress.history import add_sample, is_sound
from jobmon_core.domain.progress.log.judge import judge
from jobmon_core.domain.progress.log.reader_state import ReaderState
from jobmon_core.domain.progress.log.totals import with_total, with_total_of_checkpoint
from jobmon_core.domain.progress.model import History, Progress, Sample, TaskProgress, WorkerProgress
from jobmon_core.domain.progress.workers import worker_progress
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.domain.triage.state import TriageState
from jobmon_core.observe.progress.reader import read_progress
from jobmon_core.observe.progress.trainer_state import newest_trainer_state
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.progress_file import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.store.telemetry import TaskTelemetry

    TelemetryOf = Callable[[str, str], TaskTelemetry]  # of a state id and the key of a task
    FilesElsewhere = Callable[[WatchedJob], tuple[Listing, ...] | None]

_MAX_TASKS = 32  # at most this many running tasks of a job are followed, and as many ended ones are kept
_MAX_EVENTS, _MAX_SHOWN_ONLY = 200, 30
_OVER = (Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)
_SHOWN_ONLY = (EventKind.MILESTONE, EventKind.CHECKPOINT, EventKind.LAUNCHED)
_NO_SETTINGS, _NO_ARTIFACTS, _NO_TRIAGE = JobSettings(), Artifacts(), TriageState()


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The content of a progress file: a `JobProgress`, and the states from which the next look continues."""

    updated_s: float = 0.0
    tasks: dict[str, TaskProgress] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    artifacts: dict[str, Artifacts] = field(default_factory=dict)
    triage: dict[str, TriageState] = field(default_factory=dict)
    launches: dict[str, LaunchState] = field(default_factory=dict)
    readers: dict[str, ReaderState] = field(default_factory=dict)  # by task key
    errors: dict[str, ErrorWatch] = field(default_factory=dict)  # by task key


class _LookInputs(NamedTuple):
    """What the caller passes to one look at the jobs."""

    now_s: float
    user_patterns: Path | None
    telemetry_of: TelemetryOf | None
    listings: Listings
    files_elsewhere: FilesElsewhere


def follow_progress(
    jobs: Sequence[WatchedJob],
    file_of: Callable[[str], Path],
    now_s: float,
    user_patterns: Path | None = None,
    telemetry_of: TelemetryOf | None = None,
    *,
    files_elsewhere: FilesElsewhere = lambda _: None,
) -> dict[str, Followed]:
    """Read what was appended to the logs of these jobs, look at their outputs, update their progress files.

    Return what was found, by state id. ``file_of`` returns the progress file of the job with a state id;
    ``now_s`` is in Unix seconds. ``user_patterns`` is the path of the user's failure patterns; the file may
    be missing. ``telemetry_of`` returns what agents measured of a task; without it, that is not judged.
    ``files_elsewhere`` returns the outputs of a job on a machine whose files cannot be read here, else None.
    """
    look = _LookInputs(now_s, user_patterns, telemetry_of, Listings(), files_elsewhere)
    return {job.id: _follow_safely(job, file_of(job.id), look) for job in jobs}


def _follow_safely(job: WatchedJob, path: Path, look: _LookInputs) -> Followed:
    """Follow a job; an error with it, e.g. a damaged file or a full disk, must not affect the others."""
    try:
        return _follow(job, JsonFile(path, ProgressState, MAX_BYTES, durable=False), look)
    except JobmonError as error:
        return Followed(problem=str(error))
    except Exception:  # noqa: BLE001 - an internal error, which the monitor logs
        import traceback  # only here: it is rarely needed

        return Followed(problem=traceback.format_exc(limit=-3))


def _follow(job: WatchedJob, file: JsonFile[ProgressState], look: _LookInputs) -> Followed:
    now_s, record = look.now_s, file.read()
    before = record
    logs = [(task, _logs(job, task)) for task in _tasks_to_read(job, before)]
    record = _with_artifacts(record, job, logs, look)
    for task, paths in logs:
        record = _with_task(record, job, task, paths, now_s)
    record = _with_errors(record, job, logs, now_s, look.user_patterns)
    record = _with_launches(record, job, [task for task, _ in logs], look)
    if look.telemetry_of:
        record = _with_triage(record, job, [task for task, _ in logs], look.telemetry_of, now_s)
    if record != before:
        file.write(replace(record, updated_s=now_s))
    rechecks = (watch.recheck_s for watch in record.errors.values())
    return Followed(record.events, recheck_s=min(filter(None, rechecks), default=None))


def _with_launches(
    record: ProgressState, job: WatchedJob, tasks: Sequence[Task], look: _LookInputs
) -> ProgressState:
    """Return the record after one more look at how the running tasks were launched."""
    states = {key: each for key, each in record.launches.items() if key in record.tasks}
    events = record.events
    for task in tasks:
        if task.state is not JobState.RUNNING or task.end or task.key not in record.readers:
            continue
        own = own_artifacts(job, record.artifacts.get(task.key, _NO_ARTIFACTS))
        telemetry = look.telemetry_of(job.id, task.key) if look.telemetry_of else None
        seen = SeenAtLaunch(telemetry, record.tasks[task.key], record.readers[task.key], own)
        states[task.key], found = verify_launch(states.get(task.key), job, task, seen, look.now_s)
        new = (replace(event, task=task.key) for event in found)
        events += tuple(without_repeats(new, events, task.key))
    return replace(record, launches=states, events=_latest(events))


def _with_triage(
    record: ProgressState, job: WatchedJob, tasks: Sequence[Task], telemetry_of: TelemetryOf, now_s: float
) -> ProgressState:
    """Return the record after judging what agents measured of the tasks that run.

    If the same look (at ``now_s``) found a stall, the measurements may explain it: its event then gets that
    reason.
    """
    states, events = {key: each for key, each in record.triage.items() if key in record.tasks}, record.events
    for task in tasks:
        if task.state is not JobState.RUNNING or task.end:
            continue
        followed = record.tasks[task.key]
        known = own_artifacts(job, record.artifacts.get(task.key, _NO_ARTIFACTS))
        seen = Seen(now_s, last_write_s(followed.logs), followed, known)
        before = states.get(task.key, _NO_TRIAGE)
        states[task.key], found = triage_task(before, job, task, telemetry_of(job.id, task.key), seen)
        new = (replace(event, task=task.key) for event in found)
        events += tuple(without_repeats(new, events, task.key))
    return replace(record, triage=states, events=_latest(with_explained_stalls(events, now_s)))


def _tasks_to_read(job: WatchedJob, record: ProgressState) -> list[Task]:
    """Return the tasks whose logs are to be read: those that have just ended, then up to 32 that run."""
    ended = [task for task in job.tasks.values() if _is_over(task) and task.key in record.readers]
    running = [task for task in job.tasks.values() if not _is_over(task) and task.state.phase is Phase.ACTIVE]
    return ended + running[:_MAX_TASKS]


def _is_over(task: Task) -> bool:
    return task.end is not None or task.state.phase in _OVER


def _logs(job: WatchedJob, task: Task) -> tuple[str, ...]:
    """Return the known paths of a task's logs, without /dev/null."""
    paths = (*log_files(job, task), *logs_of_run(job, task))
    return tuple(dict.fromkeys(path for path in paths if path not in ("", os.devnull)))


def _with_artifacts(
    record: ProgressState, job: WatchedJob, logs: Sequence[tuple[Task, tuple[str, ...]]], look: _LookInputs
) -> ProgressState:
    """Return the record after one more look at the outputs and checkpoints of the followed tasks."""
    if (elsewhere := look.files_elsewhere(job)) is not None:
        return replace(record, artifacts=outputs_elsewhere(record.artifacts, elsewhere, look.now_s))
    known = [*(paths for _, paths in logs), *(each.logs for each in record.tasks.values())]
    all_logs = {path for paths in known for path in paths}
    kept = {"", *record.tasks, *(task.key for task, _ in logs)}
    found, events = {key: each for key, each in record.artifacts.items() if key in kept}, record.events
    # tasks that share their folders have the same key, and need one look
    for key, task in {artifacts_key(job, task): task for task, _ in logs}.items():
        if key is not None:
            before = found.get(key, _NO_ARTIFACTS)
            found[key], saved = look_at_artifacts(job, task, all_logs, before, look.now_s)
            events += tuple(replace(event, task=key) for event in saved)
    unnamed = [task for task, _ in logs if artifacts_key(job, task) is None]
    looks = look_at_all_found(job, unnamed, all_logs, found, look.now_s, listings=look.listings)
    for key, seen, saved in looks:
        found |= {key: seen} if seen != _NO_ARTIFACTS else {}
        events += tuple(replace(event, task=key) for event in saved)
    return replace(record, artifacts=found, events=_latest(events))


def _with_task(
    record: ProgressState, job: WatchedJob, task: Task, logs: tuple[str, ...], now_s: float
) -> ProgressState:
    """Return the record after one more look at the logs of a task."""
    settings = job.settings or _NO_SETTINGS
    known, patterns = record.readers.get(task.key), settings.progress_patterns
    reader = read_progress(logs, known, patterns, ended=task.end is not None)
    written_s = min(now_s, last_write_s(logs) or now_s)
    progress = with_known_total(
        reader.progress, settings, checkpoint_folder(job, task), start_of_run_s(job, task)
    )
    before = _of_unit(_of_this_run(record.tasks.get(task.key), task), progress)
    is_of_this_run = written_s >= (task.start_s or 0)
    history = _grown(before.history, progress if is_of_this_run else None, written_s)
    main_logs = log_files(job, task)
    worker_logs = [path for path in logs if path not in main_logs]
    workers = _workers(before.workers, worker_logs, reader, now_s)
    has_output = is_of_this_run and any(log.size for log in reader.files)
    after = replace(
        before, progress=progress, logs=logs, history=history, workers=workers, has_output=has_output
    )
    events: tuple[Event, ...] = ()
    if task.state is JobState.RUNNING and not task.end:
        own = own_artifacts(job, record.artifacts.get(task.key, _NO_ARTIFACTS))
        after, events = with_known_problems(after, task, settings, Look(now_s, written_s, own))
    readers = {**record.readers, task.key: reader}
    if task.end is not None:
        del readers[task.key]
    return replace(
        record,
        tasks=_bounded({**record.tasks, task.key: after}, readers),
        events=_latest((*record.events, *(replace(event, task=task.key) for event in events))),
        readers=readers,
    )


def _with_errors(
    record: ProgressState,
    job: WatchedJob,
    logs: Sequence[tuple[Task, tuple[str, ...]]],
    now_s: float,
    user_patterns: Path | None,
) -> ProgressState:
    """Return the record after one more search for failures in the logs of the running tasks.

    A log that several components of a het job share is searched once, on behalf of the first of them. A log
    that several of the followed tasks of an array share is not searched, because it does not show which of
    them failed.
    """
    writers = Counter(path for _, paths in logs for path in paths)
    errors, events, searched = dict[str, ErrorWatch](), record.events, set[str]()
    for task, paths in logs:
        if task.state is not JobState.RUNNING or task.end or task.key not in record.readers:
            continue
        own = [path for path in paths if path not in searched and not (job.is_array and writers[path] > 1)]
        searched.update(own)
        watch = record.errors.get(task.key, ErrorWatch())
        search = LiveErrors(job, task, user_patterns)
        errors[task.key], found = search.look(watch, own, record.readers[task.key], now_s)
        events += tuple(replace(event, task=task.key) for event in found)
    # a task that does not run now, e.g. because it is suspended, keeps its state for when it resumes
    kept = {key: each for key, each in record.errors.items() if key in record.readers}
    return replace(record, errors={**kept, **errors}, events=_latest(events))


def with_known_total(
    progress: Progress | None, settings: JobSettings, folder: str, since_s: float
) -> Progress | None:
    """Return the progress; if the log shows no total, with that of the settings or of the newest checkpoint.

    Checkpoints from before ``since_s`` (Unix seconds) are those of an earlier run.
    """
    progress = with_total(progress, settings.total_items)
    if not folder or progress is None or progress.total is not None:
        return progress
    return with_total_of_checkpoint(progress, newest_trainer_state(folder, since_s))


def _workers(
    before: Mapping[str, WorkerProgress], paths: Sequence[str], reader: ReaderState, now_s: float
) -> dict[str, WorkerProgress]:
    """Return the workers that have written anything, by the names of their logs."""
    logs = [(Path(each.path).name, each) for each in reader.files if each.path in paths and each.size]
    return {
        name: worker_progress(
            before.get(name), judge(log.shown), min(now_s, last_write_s((log.path,)) or now_s)
        )
        for name, log in sorted(logs, key=lambda each: (len(each[0]), each[0]))  # worker_2 before worker_10
    }


def _of_this_run(known: TaskProgress | None, task: Task) -> TaskProgress:
    """Return the progress of a task; if its history is of an earlier run or damaged, with an empty one."""
    known = known or TaskProgress()
    samples = known.history.samples
    is_usable = samples and is_sound(known.history)
    if is_usable and (task.start_s is None or samples[-1].at_s >= task.start_s):
        return known
    return replace(known, history=History(started_s=task.start_s))


def _of_unit(known: TaskProgress, progress: Progress | None) -> TaskProgress:
    """Return the progress of a task; if it now counts in another unit, drop the samples in the old one.

    A change of unit is not a new run of the program, so no event reports a restart.
    """
    if progress is None or known.progress is None or known.progress.unit == progress.unit:
        return known
    history = History(started_s=known.history.started_s)
    return replace(known, history=history, known_problems=replace(known.known_problems, run_started_s=None))


def _bounded(tasks: dict[str, TaskProgress], readers: Container[str]) -> dict[str, TaskProgress]:
    """Return the followed tasks, and the latest `_MAX_TASKS` of those that are not followed any more."""
    over = [key for key in tasks if key not in readers]
    return {key: each for key, each in tasks.items() if key not in over[:-_MAX_TASKS]}


def _latest(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Return the latest 200 events.

    At most 30 of them are milestones, checkpoints and launches: they must not crowd out the others.
    """
    dropped = [event for event in events if event.kind in _SHOWN_ONLY][:-_MAX_SHOWN_ONLY]
    return tuple(event for event in events if event not in dropped)[-_MAX_EVENTS:]


def _grown(history: History, progress: Progress | None, written_s: float) -> History:
    if progress is None:
        return history
    return add_sample(history, Sample(written_s, progress.current, progress.loss, progress.grad_norm))
