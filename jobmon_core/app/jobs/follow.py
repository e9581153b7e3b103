"""Follow the output of a job until it has ended, or a log that grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.output import OutputText, begin_following, task_to_read, task_with_new_log
from jobmon_core.app.jobs.overview import end_text
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.lifecycle.health import Health, job_status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.observe.logs.follow import LogFollower

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
