"""The tasks of an array or het job to show in detail, their order, and the number of those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase, stated_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_BAD = (Outcome.FAILURE, Outcome.UNKNOWN)
_NEW_S = 10.0  # for so long, an answer of the scheduler counts as new
# the task whose outcome comes first here stands for a job; None: it has started, but not ended
_TO_SHOW: tuple[Outcome | None, ...] = (
    Outcome.FAILURE,
    Outcome.UNKNOWN,
    None,
    Outcome.CANCELLED,
    Outcome.SUCCESS,
)


def detailed_tasks(job: WatchedJob, limit: int) -> list[Task]:
    """Return at most ``limit`` tasks to show in detail, sorted by index: those that `problem_count` counts.

    If there are more, the first of each cause are chosen before others.
    """
    groups = [group.keys for group in cause_groups(job) if group.outcome is not Outcome.CANCELLED]
    ranked = sorted(
        (position, rank, key) for rank, keys in enumerate(groups) for position, key in enumerate(keys)
    )
    return in_order([job.tasks[key] for _, _, key in ranked[:limit]])


def worst_task(tasks: Iterable[Task]) -> Task | None:
    """Return the task to explain or to show for all of them: the first with the worst outcome, if any."""
    return min(tasks, key=_rank, default=None)


def is_waiting(task: Task) -> bool:
    """Whether a task has neither started nor ended."""
    return task.end is None and not task.has_started and task.state.phase is Phase.WAITING


def why_not_started(job: WatchedJob, task: Task | None, now_s: float) -> str:
    """Return why a task, or a job without known tasks (None), has no run to show, as words after its id.

    An answer of the scheduler that is not new has its age: the task may have started since.
    """
    if task is None and job.closed:
        return "is no longer watched, and jobmon never saw it start"
    if task is None and not job.pending_indices:
        return "is not listed by the scheduler yet"
    reason = stated_reason(task.reason if task else job.pending_reason)
    verb = "waits for its next start" if task and task.has_started else "has not started"
    age_s = now_s - job.answered_s if job.answered_s is not None else 0.0
    asked = f"as of {duration(age_s)} ago" if age_s >= _NEW_S else ""
    return f"{verb} ({', '.join(filter(None, (task.state if task else JobState.PENDING, reason, asked)))})"


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks sorted by their index."""
    return sorted(tasks, key=task_index)


def task_index(task: Task) -> int:
    """Return the index of an array task or component; 0 without a valid one."""
    ref = ref_of(0, task.key)
    return ref.task or ref.component or 0


def failed_count(job: WatchedJob) -> int:
    """Return the number of tasks that failed; an unknown outcome is no failure."""
    return sum(1 for task in job.tasks.values() if task.end and task.end.outcome is Outcome.FAILURE)


def problem_count(job: WatchedJob) -> int:
    """Return the number of tasks that failed, ended with unknown outcome or succeeded doubtfully."""
    ends = (task.end for task in job.tasks.values() if task.end)
    return sum(1 for end in ends if end.outcome in _BAD) + job.doubtful_tasks


def _rank(task: Task) -> tuple[bool, int, bool, int]:
    outcome = task.end.outcome if task.end else None
    return is_waiting(task), _TO_SHOW.index(outcome), not task.is_doubtful_success, task_index(task)
