"""The summary of an array or het job: groups of tasks with the same end, and those to show in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.job_ids import compact, ref_of
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.domain.tracking.model import FROM_WORST

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.tracking.model import End, Task, WatchedJob


# which task stands for a job: one that failed, else one that still runs, else one that was cancelled
_TO_SHOW: tuple[Outcome | None, ...] = (
    Outcome.FAILURE,
    Outcome.UNKNOWN,
    None,
    Outcome.CANCELLED,
    Outcome.SUCCESS,
)


class CauseGroup(NamedTuple):
    """Tasks that did not succeed, for the same cause."""

    cause: str
    outcome: Outcome
    keys: list[str]

    @property
    def indices(self) -> str:
        """The indices of the tasks in Slurm's short form, e.g. ``1-3,7``."""
        tasks = [ref_of(0, key).task for key in self.keys]
        return compact([index for index in tasks if index is not None]) or ", ".join(self.keys)


def cause_groups(job: WatchedJob) -> list[CauseGroup]:
    """Return the ended tasks that did not succeed by cause: failures first, then the largest group."""
    groups: dict[tuple[str, Outcome], list[str]] = {}
    for task in job.tasks.values():
        if task.end and task.end.outcome is not Outcome.SUCCESS:
            groups.setdefault((_cause(task, task.end), task.end.outcome), []).append(task.key)
    found = [CauseGroup(cause, outcome, keys) for (cause, outcome), keys in groups.items()]
    return sorted(found, key=lambda group: (FROM_WORST.index(group.outcome), -len(group.keys)))


def detailed_tasks(job: WatchedJob, limit: int) -> list[Task]:
    """Return the failed tasks to show in detail, at most ``limit``: the first of each cause before others."""
    groups = [group.keys for group in cause_groups(job) if group.outcome is not Outcome.CANCELLED]
    ranked = sorted(
        (position, rank, key) for rank, keys in enumerate(groups) for position, key in enumerate(keys)
    )
    return in_order([job.tasks[key] for _, _, key in ranked[:limit]])


def worst_task(tasks: Iterable[Task]) -> Task | None:
    """Return the task to explain or to show for all of them: the first with the worst outcome, if any."""
    return min(tasks, key=_rank, default=None)


def is_waiting(task: Task) -> bool:
    """Whether a task has not started."""
    return task.end is None and not task.has_started and task.state.phase is Phase.WAITING


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks sorted by their index."""
    return sorted(tasks, key=task_index)


def task_index(task: Task) -> int:
    """Return the index of an array task or component; 0 without a valid one."""
    ref = ref_of(0, task.key)
    return ref.task or ref.component or 0


def failed_count(job: WatchedJob) -> int:
    """Return the number of tasks that failed or ended with unknown outcome."""
    bad = (Outcome.FAILURE, Outcome.UNKNOWN)
    return sum(1 for task in job.tasks.values() if task.end and task.end.outcome in bad)


def _rank(task: Task) -> tuple[bool, int, int]:
    return is_waiting(task), _TO_SHOW.index(task.end.outcome if task.end else None), task_index(task)


def _cause(task: Task, end: End) -> str:
    if task.diagnosis and task.diagnosis.cause:
        return task.diagnosis.title
    if end.exit_code or end.signal:
        return f"{end.raw_state}, {exit_phrase(end.exit_code, end.signal)}"
    return end.raw_state or end.why
