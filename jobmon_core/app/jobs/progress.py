"""The progress of a program by its logs, for a watched job with an estimate of its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    last_write_s,
    own_files,
)
from jobmon_core.analysis.progress import settings_of_task, with_known_total
from jobmon_core.app.jobs.find import STDIN
from jobmon_core.app.jobs.output import known_files, with_log_paths
from jobmon_core.app.jobs.overview import current_status, in_order
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.own_files import OwnFiles
from jobmon_core.domain.logs.progress.estimate import ROUGH, estimate_or_printed
from jobmon_core.domain.logs.progress.events.ongoing import unusual_pause_s
from jobmon_core.domain.logs.progress.model import Estimate, History
from jobmon_core.domain.logs.progress.tracked import may_lead_log, with_tracked
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader, read_progress
from jobmon_core.observe.progress.trainer_state import read_trainer_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.log.fold import ReaderState
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.domain.slurm.job_ids import JobRef

_NO_SETTINGS, _NO_HISTORY, _NO_ESTIMATE = JobSettings(), History(), Estimate()
_NO_ARTIFACTS = Artifacts()
_ANY_FILES = OwnFiles(0.0)
_PIECE = 2**20  # bytes of standard input read at once


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The progress that logs show."""

    progress: Progress | None
    updated_s: float | None = None  # of the newest of the logs
    unread: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    estimate: Estimate = _NO_ESTIMATE  # from what the monitor of the job has seen, else what the log prints
    is_over: bool = False  # the job has ended, so that no time is left, whatever its log says
    pause_s: float | None = None  # without progress, if that is unusually long

    @property
    def remaining_s(self) -> float | None:
        """The time that is left: as estimated, else as the log says, else at the speed of the log."""
        if self.estimate.remaining_s is not None:
            return self.estimate.remaining_s
        if self.progress is None or self.is_over or self.pause_s is not None:
            return None
        printed_s = self.progress.remaining_s
        return self.progress.at_speed_s() if printed_s is None else printed_s

    @property
    def range_s(self) -> tuple[float, float] | None:
        """The shortest and longest time that may be left; None if only the log says it."""
        shortest_s, longest_s = self.estimate.shortest_s, self.estimate.longest_s
        if shortest_s is not None and longest_s is not None:
            return shortest_s, longest_s
        left_s = self.remaining_s
        is_printed = self.progress is None or self.progress.remaining_s is not None
        return None if left_s is None or is_printed else (left_s / ROUGH, left_s * ROUGH)


@dataclass(slots=True)
class LogProgress:
    """The logs of one program, read as they grow."""

    paths: tuple[str, ...]
    settings: JobSettings = _NO_SETTINGS
    history: History = _NO_HISTORY
    is_over: bool = False  # the job has ended
    checkpoints: str = ""  # their folder
    own: OwnFiles = _ANY_FILES  # its checkpoints are among these
    artifacts: Artifacts = _NO_ARTIFACTS  # as its monitor last saw them
    tracked: Progress | None = None  # likewise, with what its trackers say; None without any
    tracker_run: TrackerRun | None = None  # whose steps count
    _state: ReaderState | None = field(default=None, init=False)

    def read(self, *, ended: bool = False) -> ProgressReport:
        """Read on; in place of logs there may be one ``trainer_state.json``.

        ``ended`` takes the last line as complete, even if no newline ends it.
        """
        if len(self.paths) == 1 and (saved := read_trainer_state(self.paths[0])):
            return ProgressReport(saved, last_write_s(self.paths), logs=self.paths)
        patterns = self.settings.progress_patterns
        self._state = read_progress(self.paths, self._state, patterns, ended=ended)
        unread = tuple(f"{each.path} {each.problem}" for each in self._state.files if each.problem)
        progress = with_known_total(self._state.progress, self.settings, self.checkpoints, self.own)
        may_lead = may_lead_log(self.tracker_run, self._state.progress)
        progress = with_tracked(progress, self.tracked, may_lead=may_lead)
        return ProgressReport(progress, last_write_s(self.paths), unread, self.paths)

    def estimated(self, report: ProgressReport, now_s: float) -> ProgressReport:
        """Return a report with the estimate of the remaining time as of ``now_s``."""
        progress = report.progress
        # the history is up to one interval old: by it, a run that has just finished would still need time
        is_finished = self.is_over or progress is None or progress.fraction == 1.0
        found = estimate_or_printed(self.history, None if is_finished else progress, now_s)
        samples = self.history.samples
        is_unmoved = not is_finished and progress and samples and samples[-1].current == progress.current
        pause_s = unusual_pause_s(self.history, now_s) if is_unmoved else None
        if pause_s is not None:
            found = found.without_end()
        return replace(report, estimate=found, is_over=self.is_over, pause_s=pause_s)


def logs_of_job(ctx: Context, job: WatchedJob, ref: JobRef) -> list[tuple[JobRef, LogProgress]]:
    """Return the logs of each started task that ``ref`` names, or raise JobmonError."""
    known = ctx.progress_file(job.id).read()
    job = with_log_paths(ctx, current_status(ctx, job).job)
    found = []
    for task in in_order(list(job.tasks.values())):
        logs = _logs_of_task(job, task, known)
        if ref.key in ("", task.key) and logs.paths:
            found.append((ref_of(job.job_id, task.key), logs))
    if not found:
        raise JobmonError(f"job {ref} has no log yet, so its progress is not known")
    return found


def _logs_of_task(job: WatchedJob, task: Task, known: JobProgress) -> LogProgress:
    followed = known.tasks.get(task.key, FollowedTask())
    paths = followed.logs or tuple(known_files(job, task))
    return LogProgress(
        paths,
        settings_of_task(job),
        followed.history,
        is_over=task.end is not None,
        checkpoints=checkpoint_folder(job, task),
        own=own_files(job, task),
        artifacts=known.artifacts_of(task.key),
        tracked=followed.progress if followed.tracked else None,
        tracker_run=next(iter(followed.tracked), None),
    )


def progress_of_stream(stream: BinaryIO, now_s: float) -> ProgressReport:
    """Read to the end; ``now_s`` is the time of the last output."""
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    while piece := stream.read(_PIECE):
        reader.feed(piece)
    reader.feed(b"\n")
    return ProgressReport(reader.progress, now_s, logs=(STDIN,))


def follow_stream(stream: BinaryIO) -> Iterator[ProgressReport]:
    """Yield the progress after each piece of a stream, and at its end."""
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    read = getattr(stream, "read1", stream.read)
    while piece := read(_PIECE):
        reader.feed(piece)
        yield ProgressReport(reader.progress, logs=(STDIN,))
    reader.feed(b"\n")
    yield ProgressReport(reader.progress, logs=(STDIN,))
