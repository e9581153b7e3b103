"""The output of a job: which task's, in which files, its last lines, and what is added."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import log_files, logs_of_run, modified_s, with_script_logs
from jobmon_core.app.jobs.overview import end_text, is_waiting, worst_task
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.slurm.job_ids import IndexSet, includes, ref_of
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.observe.logs.follow import LogFollower
from jobmon_core.observe.logs.read import TAIL_BYTES, read_tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
    from jobmon_core.domain.slurm.job_ids import JobRef

_MAX_BYTES = 64 * 2**20  # of the end of a log, however many lines are asked for


class OutputText(NamedTuple):
    """Lines as a terminal would finally show them."""

    path: str
    lines: tuple[str, ...] = ()
    unfinished: str = ""  # the text after the last line, e.g. a progress bar
    problem: str = ""  # why lines are missing; completes a sentence that starts with the path
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class JobOutput:
    """The files of one task: stdout and stderr, which may be the same, and further logs."""

    task: Task
    ref: JobRef
    stdout: str
    stderr: str
    named: tuple[str, ...] = ()  # further logs, by the job's settings

    def files(self, *, out: bool = True, err: bool = True) -> list[str]:
        """Each once; if both kinds are wanted, also the named logs."""
        logs = (self.stdout, out), (self.stderr, err), *((path, out and err) for path in self.named)
        return list(dict.fromkeys(path for path, is_wanted in logs if is_wanted))


def job_output(ctx: Context, job: WatchedJob, ref: JobRef) -> JobOutput | None:
    """Return the output of the task that ``ref`` names; None if it has not started.

    Pending jobs are queried rarely, so a new log shows a start before the monitor sees it. Raise JobmonError
    if jobmon does not know where the output is.
    """
    task = task_to_read(job, ref.key) or task_with_new_log(job, ref.key)
    if task is None:
        return None
    job = with_log_paths(ctx, job)
    stdout, stderr = log_files(job, task)
    if not stdout:
        raise JobmonError(f"job {ref}: jobmon does not know where its output is; see `jobmon show {ref}`")
    return JobOutput(task, ref_of(job.job_id, task.key), stdout, stderr or stdout, logs_of_run(job, task))


def with_log_paths(ctx: Context, job: WatchedJob) -> WatchedJob:
    """Add the log templates of its script, if the monitor does not know them yet."""
    if job.logs.source:
        return job
    return with_script_logs(job, ctx.scheduler(job.backend, job.other_cluster))


def known_files(job: WatchedJob, task: Task) -> list[str]:
    """Return the known paths of a task's output, without a query."""
    if not job.logs.stdout or not _has_output(task):
        return []
    return list(dict.fromkeys(path for path in log_files(job, task) if path))


def empty_last(paths: Iterable[str]) -> list[str]:
    """Sort those of empty or missing files last."""
    return sorted(paths, key=_is_empty)


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError):
        return True


def task_to_read(job: WatchedJob, key: str) -> Task | None:
    """Return the started task ``key``, or the worst started one."""
    tasks = [task for task in job.tasks.values() if key in ("", task.key) and _has_output(task)]
    return worst_task(tasks)


def task_with_new_log(job: WatchedJob, key: str) -> Task | None:
    """Return a task not known to have started whose log was written since the submission, if any.

    Without a key, any task is meant, but of an array's pending tasks only the first.
    """
    if not job.logs.stdout:  # until the monitor has read the job's record
        return None
    waiting = [task for task in job.tasks.values() if key in ("", task.key) and is_waiting(task)]
    pending = IndexSet.parse(job.pending_indices)
    if includes(pending, key):
        waiting.append(job.tasks.get(key) or Task(key))
    elif not key:
        waiting += [Task(str(index)) for index in islice(pending, 1)]
    return next((task for task in waiting if _has_new_log(job, task)), None)


def _has_new_log(job: WatchedJob, task: Task) -> bool:
    if task.key.isdigit() and task.raw_job_id is None and not _is_named_by_index(job.logs.stdout):
        return False
    return any(_is_new(job, task, path) for path in log_files(job, task) if path)


def _is_named_by_index(template: str) -> bool:
    """Whether the index alone tells the log of one array task from those of the others."""
    return bool(re.search(r"%\d*a", template)) and not re.search(r"%\d*[jJ]", template)


def _is_new(job: WatchedJob, task: Task, path: str) -> bool:
    """Not if it is of a job that this one waits for."""
    if path in job.earlier_logs and task.reason == "Dependency":
        return False
    return modified_s(path) >= (job.submitted_s or job.registered_s)


def last_lines(path: str, count: int) -> OutputText:
    """Return the last ``count`` lines of a file, fewer if they exceed 64 MiB. Never raises."""
    return _text(_read_lines(path, count, _MAX_BYTES))


def begin_following(path: str, count: int, max_bytes: int = _MAX_BYTES) -> tuple[OutputText, LogFollower]:
    """Return the last ``count`` complete lines, and a reader that continues after them."""
    part = _read_lines(path, count, max_bytes)
    if part.path != path:  # a rotated copy: the file itself is yet to be written
        return _text(part), LogFollower(path)
    follower = LogFollower.after(path, part.size)
    text = _text(part)
    return (text._replace(lines=text.lines[:-1]) if follower.offset < part.size else text), follower


def _read_lines(path: str, count: int, limit: int) -> LogExcerpt:
    max_bytes = TAIL_BYTES
    part = read_tail(path, max_bytes)
    while len(part.texts) < count and not (part.complete or part.problem) and max_bytes < limit:
        max_bytes = min(limit, 8 * max_bytes)
        part = read_tail(path, max_bytes)
    texts = part.texts[-count:] if count else ()
    return replace(part, texts=texts)


def _text(part: LogExcerpt) -> OutputText:
    problem = part.problem or part.note
    readable = not part.problem or part.problem == "is empty"
    return OutputText(part.path, part.texts, problem=problem, is_readable=readable)


def _has_output(task: Task) -> bool:
    if task.end:
        return task.end.started_s is not None or task.has_started
    return not is_waiting(task)


_START_INTERVAL_S = 1.0  # between two looks for the start
_STATE_INTERVAL_S = 3.0  # between two looks at the state file
# from the end to the last read: a network file system may show the last lines late
_LATE_LINES_S = 2.0
LINES = 500  # that are kept of one log
_TAIL_BYTES = 256 * 1024  # read of the log at first


def wait_for_start(ctx: Context, job: WatchedJob, ref: JobRef) -> WatchedJob:
    """Wait until a task that ``ref`` names has started, or the job is closed."""
    while not (task_to_read(job, ref.key) or task_with_new_log(job, ref.key) or job.closed):
        ctx.clock.wait(_START_INTERVAL_S)
        job = ctx.store.load(job.id)
    return job


@dataclass(slots=True)
class FollowOutput:
    """Files of a job, read until the task ``key``, or without a key the job, has ended."""

    ctx: Context
    job: WatchedJob
    key: str
    files: list[str]
    _followers: dict[str, LogFollower] = field(default_factory=dict, init=False)
    _loaded_s: float = field(default=0.0, init=False)

    def begin(self, lines: int) -> Iterator[OutputText]:
        """Yield the last complete lines of each file."""
        for path in self.files:
            text, self._followers[path] = begin_following(path, lines)
            yield text

    def new_text(self) -> Iterator[OutputText]:
        """Yield what was written to each file since the last call."""
        return (OutputText(path, *follower.read()) for path, follower in self._followers.items())

    def rest(self) -> Iterator[OutputText]:
        """Yield what is left after the end."""
        self.ctx.clock.wait(_LATE_LINES_S)
        for path, follower in self._followers.items():
            yield from (OutputText(path, *new) for new in follower.rest())

    def has_ended(self) -> bool:
        """Whether it is over, as far as jobmon knows."""
        now_s = self.ctx.clock.now()
        if now_s - self._loaded_s >= _STATE_INTERVAL_S:
            self.job, self._loaded_s = self.ctx.store.load(self.job.id), now_s
        task = self.job.tasks.get(self.key)
        return bool(task and task.end) or self.job.concluded_s is not None

    def caveat(self) -> str:
        """Return why the end may go unnoticed."""
        if self.job.unwatched_s is not None and not self.has_ended():
            return (
                "the job is no longer watched, so its end is not noticed; Ctrl-C ends this, and "
                f"`jobmon watch {self.job.ref}` watches the job again"
            )
        if job_status(self.ctx, self.job).health in (Health.DEAD, Health.STALE):
            return (
                "the job's monitor is gone, so its end is not noticed; `jobmon recover` restarts the monitor"
            )
        return ""

    def ending(self) -> str:
        """Return how the job ended, in a sentence."""
        ref = ref_of(self.job.job_id, self.key) if self.key else self.job.ref
        task = self.job.tasks.get(self.key)
        how = f": {end_text(task.end)}" if task and task.end else ""
        return f"job {ref} has ended{how}; `jobmon show {ref}` shows more"


class LogTail:
    """The last `LINES` lines of one log."""

    def __init__(self, path: str) -> None:
        """Follow ``path``, which may not exist yet."""
        self.path = path
        self._text = OutputText(path)
        self._follower: LogFollower | None = None

    def read(self) -> OutputText:
        """Return the last lines, or what is wrong if there are none."""
        if self._follower is None or (self._text.problem and not self._text.lines):
            self._text, self._follower = begin_following(self.path, LINES, _TAIL_BYTES)
        new = self._follower.read()
        lines = (*self._text.lines, *new.lines)[-LINES:]
        self._text = self._text._replace(lines=lines, unfinished=new.unfinished)
        return self._text
