"""Look at the outputs and checkpoints of a running job, if the user named folders or patterns for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import checkpoint_folder, is_shared, named_path, own_files_of_runs
from jobmon_core.domain.artifacts.look import checkpoints_after, outputs_after
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.own_files import Origin, OwnFiles
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.observe.artifacts.listing import disk_of, list_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from jobmon_core.domain.artifacts.model import ListedFile, Listing
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob


def artifacts_key(job: WatchedJob, task: Task) -> str | None:
    """Return the key under which a task's outputs and checkpoints are kept.

    It is the task's own, or empty if neither a folder nor a pattern differs between the tasks of the array.
    None if the user named neither a folder nor a pattern for them.
    """
    settings = job.own_settings
    if not (settings.output_names or settings.checkpoint_names):
        return None
    named = settings.output_dir, settings.output_pattern, settings.checkpoint_dir, settings.checkpoint_pattern
    return "" if is_shared(job, "".join(named)) else task.key


def own_artifacts(job: WatchedJob, found: Artifacts) -> Artifacts:
    """Return those outputs and checkpoints of a task that no other task of its array writes."""
    settings = job.own_settings
    saved = (settings.checkpoint_dir or settings.output_dir) + settings.checkpoint_pattern
    written = settings.output_dir + settings.output_pattern
    return replace(
        found,
        outputs=None if is_shared(job, written) else found.outputs,
        checkpoints=None if is_shared(job, saved) else found.checkpoints,
    )


def look_at_artifacts(
    job: WatchedJob,
    task: Task,
    logs: Iterable[str],
    before: Artifacts,
    now_s: float,
    *,
    listing_of: Callable[..., Listing] = list_files,
    origin: Origin = Origin.NAMED,
) -> tuple[Artifacts, tuple[Event, ...]]:
    """Return what the named folders hold at ``now_s`` (Unix seconds), and an event if a checkpoint is new.

    ``before`` is the result of the previous look; ``logs`` are paths of log files, which do not count as
    outputs. ``listing_of`` may replace `list_files`; ``origin`` is what leads to the folders. Only the job's
    own checkpoints count; in a folder that the user did not name, also only its own outputs.
    """
    settings = job.own_settings
    saved_in = checkpoint_folder(job, task) or job.workdir
    written_in = named_path(job, task, settings.output_dir) or job.workdir
    checkpoints, outputs = None, None
    events: tuple[Event, ...] = ()
    own = own_files_of_runs(job, task, origin, are_shared=artifacts_key(job, task) != task.key)
    saved = _own_part(listing_of(saved_in, _names(job, task, settings.checkpoint_names), folders=True), own)
    if saved.files or settings.checkpoint_dir or settings.checkpoint_pattern:
        checkpoints, new = checkpoints_after(
            before.checkpoints, saved, _started_s(job, task), now_s, ended=task.end is not None
        )
        events = (_event(new, now_s),) if new else ()
    if settings.output_names:
        not_outputs = {*logs, *(f"{saved_in}/{file.name}" for file in saved.files)}
        written = listing_of(written_in, _names(job, task, settings.output_names), without=not_outputs)
        written = written if origin is Origin.NAMED else _own_part(written, own)
        min_per_s = (settings.min_growth_bytes or 0.0) / (settings.check_interval_s or Policy().running_s)
        outputs = outputs_after(before.outputs, written, now_s, min_per_s)
    disk = disk_of(written_in if outputs else saved_in)
    return Artifacts(now_s, outputs, checkpoints, disk), events


def _own_part(listing: Listing, own: OwnFiles) -> Listing:
    return replace(
        listing, files=tuple(each for each in listing.files if own.include(each.modified_s, each.owner))
    )


def outputs_elsewhere(
    known: Mapping[str, Artifacts], listings: Iterable[Listing], now_s: float
) -> dict[str, Artifacts]:
    """Return the outputs of a job on another machine, by key: its files cannot be read here."""
    listing = next(iter(listings), None)
    if listing is None:
        return {}
    before = known.get("", Artifacts()).outputs
    return {"": Artifacts(now_s, outputs_after(before, listing, now_s))}


def _names(job: WatchedJob, task: Task, names: tuple[str, ...]) -> list[str]:
    return [named_path(job, task, name) for name in names]


def _started_s(job: WatchedJob, task: Task) -> float:
    """Return the start of the run that writes the files; of an array that shares them, its submission."""
    own = task.start_s if artifacts_key(job, task) == task.key else None
    return own or job.submitted_s or job.registered_s


def _event(saved: ListedFile, now_s: float) -> Event:
    at_s = min(now_s, saved.modified_s)
    return Event(at_s, EventKind.CHECKPOINT, f"checkpoint saved ({saved.name})")
