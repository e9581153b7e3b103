"""The tasks of an array or het job that did not plainly succeed, grouped by what happened to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jobmon_core.domain.job.tracking.model import FROM_WORST, End, Task, WatchedJob
from jobmon_core.domain.slurm.job_ids import compact, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, exit_phrase


class CauseGroup(NamedTuple):
    """Tasks to which the same happened."""

    cause: str
    outcome: Outcome
    keys: list[str]

    @property
    def indices(self) -> str:
        """The indices of the tasks in Slurm's short form, e.g. ``1-3,7``."""
        tasks = [ref_of(0, key).task for key in self.keys]
        return compact([index for index in tasks if index is not None]) or ", ".join(self.keys)


def cause_groups(job: WatchedJob) -> list[CauseGroup]:
    """Return the ended tasks by cause, except plain successes: failures first, then the largest group."""
    groups: dict[tuple[Outcome, str, str], list[Task]] = {}
    for task in job.tasks.values():
        if task.end and (task.end.outcome is not Outcome.SUCCESS or task.is_doubtful_success):
            key = (task.end.outcome, _title(task, task.end), _suffix(task.end))
            groups.setdefault(key, []).append(task)
    found = [
        CauseGroup((_common_fact(tasks) or title) + suffix, outcome, [task.key for task in tasks])
        for (outcome, title, suffix), tasks in groups.items()
    ]
    return sorted(found, key=lambda group: (FROM_WORST.index(group.outcome), -len(group.keys)))


def _title(task: Task, end: End) -> str:
    if task.diagnosis and task.diagnosis.cause:
        return task.diagnosis.title
    # without the uid of "CANCELLED by 1000", and without the signal that cancelled a task
    if end.exit_code or (end.signal and end.state is not JobState.CANCELLED):
        return f"{end.state}, {exit_phrase(end.exit_code, end.signal, is_exact=end.exit_code_exact)}"
    return end.state


def _suffix(end: End) -> str:
    if end.outcome is Outcome.SUCCESS:
        return ", but exit code 0"
    return " before starting" if end.never_started else ""


def _common_fact(tasks: Sequence[Task]) -> str:
    """Return what the log says of every task; empty if it differs, e.g. in a file name."""
    facts = {task.diagnosis.what_failed if task.diagnosis else "" for task in tasks}
    return facts.pop() if len(facts) == 1 else ""
