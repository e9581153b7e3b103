"""The rows of ``jobmon show`` about a job with several tasks: a summary, and what is not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import by_interest, pending_reason, state_counts, why_doubtful
from jobmon_core.app.jobs.overview import problem_count
from jobmon_core.domain.humanize import count
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon.views.console import Console
    from jobmon_core.domain.job.tracking.model import WatchedJob

    Pairs = Iterator[tuple[str, str]]


def summary_rows(job: WatchedJob) -> Pairs:
    """Yield the outcome, the number of tasks in each state, the causes with their tasks, what is pending."""
    if job.outcome:
        yield "outcome", job.outcome + (_doubts(job) if job.is_doubtful_success else "")
    yield "tasks", tasks_text(job)
    for group in cause_groups(job):
        yield "causes", f"{count(len(group.keys), 'task')} ({group.indices}): {group.cause}"
    if job.pending_indices:
        reason = pending_reason(job)
        yield "pending", job.pending_indices + (f" ({reason})" if reason else "")


def tasks_text(job: WatchedJob) -> str:
    """Return the number of tasks in each state, failures first."""
    counted = state_counts(job)
    numbers = ", ".join(f"{number} {each}" for each, number in by_interest(counted))
    return (f"{counted.total()}: {numbers}" if len(counted) > 1 else numbers) + unwatched_note(job)


def _doubts(job: WatchedJob) -> str:
    """Return the reasons to doubt the success of a job with several tasks."""
    reasons = dict.fromkeys(
        why_doubtful(task.diagnosis) for task in job.tasks.values() if task.is_doubtful_success
    )
    return f", but {job.doubtful_tasks} of {len(job.tasks)} tasks doubtful: {' or '.join(reasons)}"


def hidden_lines(job: WatchedJob, shown: int, console: Console) -> Iterator[str]:
    """Yield a line about the tasks that are not shown, if there are any."""
    hidden = len(job.tasks) - shown
    if len(job.tasks) <= 1 or hidden <= 0:
        return
    more = problem_count(job) - shown
    is_unknown = any(task.end and task.end.outcome is Outcome.UNKNOWN for task in job.tasks.values())
    kind = "failed"
    if job.doubtful_tasks:
        kind = "failed or doubtful"
    if is_unknown:
        kind += " or of unknown outcome"
    what = count(hidden, "other task" if shown else "task")
    if more > 0:
        what = f"{more} more {kind}"
        if hidden > more:
            what += f" and {count(hidden - more, 'other task')}"
    example = ref_of(job.job_id, next(iter(job.tasks)))
    yield ""
    yield from console.prose(f"{what} not shown: add --all, or show one task, e.g. `jobmon show {example}`")


def unwatched_note(job: WatchedJob) -> str:
    """Return a note to the state of a job whose watching was stopped before its end; else an empty text."""
    if job.unwatched_s is not None and not job.outcome:
        return ", no longer watched"
    return ""
