"""The logs and checkpoints that a health report reads itself; a dead file server delays it little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.jobs.output import known_files
from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints  # noqa: TC001 - see `JobFiles`
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.node.health.nccl import NcclLines, read_nccl
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.observe.logs.read import read_head, read_tail
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_TIMEOUT_S = 30.0
_MAX_TASKS = 64  # whose files are read
_MAX_LOGS = 64  # of each
_MAX_BYTES, _MIN_LOG_BYTES = 8 * 2**20, 2**17  # of all logs of a task together; at least of each
_NO_LINES = NcclLines()


@dataclass(frozen=True, slots=True)
class JobFiles:
    """What the files of one task show."""

    nccl: NcclLines = _NO_LINES
    errors: tuple[str, ...] = ()  # the latest lines that match a failure
    checkpoints: FoundCheckpoints | None = None


def read_files(
    ctx: Context, tasks: Sequence[LiveTask], *, with_checkpoints: bool
) -> tuple[dict[str, JobFiles], str]:
    """Read the logs, and on demand the checkpoints, of tasks that have started, within 30 seconds.

    Return what they show, by `LiveTask.id`, and why that is not known.
    """
    wanted = [live for live in tasks if live.task][:_MAX_TASKS]
    if not wanted:
        return {}, ""

    def read() -> dict[str, JobFiles]:
        return {live.id: _files_of(ctx, live, with_checkpoints) for live in wanted}

    try:
        return Helper().run(dict[str, JobFiles], read, _TIMEOUT_S), ""
    except HelperFailed as error:
        return {}, error.reason


def _files_of(ctx: Context, live: LiveTask, with_checkpoints: bool) -> JobFiles:  # noqa: FBT001 - a fact
    job, task = live.job, live.task
    if task is None:
        return JobFiles()
    logs = (live.progress.logs or tuple(known_files(job, task)))[:_MAX_LOGS]
    errors: tuple[str, ...] = ()
    if live.group in (StateGroup.RUNNING, StateGroup.ENDING):
        from jobmon_core.app.live.log_errors import LogErrors  # takes long, and only this child needs it
        from jobmon_core.app.patterns import own_pattern_file

        found = LogErrors(job, own_pattern_file(ctx)).latest(logs)
        errors = tuple(f"{line.clock} {line.text}".lstrip() for line in found)
    return JobFiles(
        read_nccl(_lines(job, task, logs)), errors, _checkpoints(ctx, job, task) if with_checkpoints else None
    )


def _lines(job: WatchedJob, task: Task, logs: Sequence[str]) -> Iterator[str]:
    """Yield the lines at the beginning and at the end of logs.

    NCCL reports at the start, and again for each new process group. If Slurm has started the job again, only
    the end is read: the beginning may be that of an earlier run.
    """
    max_bytes = max(_MIN_LOG_BYTES, _MAX_BYTES // max(1, len(logs)))
    for path in logs:
        earlier = job.earlier_logs.get(path)
        head = None if task.restarts else read_head(path, max_bytes)
        if head:
            yield from head.appended_to(earlier).texts
        if head is None or not (head.complete or head.problem):
            yield from (read_tail(path, max_bytes // 4 if head else max_bytes).appended_to(earlier).texts)


def _checkpoints(ctx: Context, job: WatchedJob, task: Task) -> FoundCheckpoints | None:
    from jobmon_core.app.jobs.artifacts import checkpoints_of  # as above

    try:
        lists = checkpoints_of(ctx, job, ref_of(job.job_id, task.key))
    except JobmonError:  # it has not started
        return None
    return lists[0].found
