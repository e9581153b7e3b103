"""How a task ended, in a few words, or what is known of its end while its outcome is not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.explainer import canceller_name
from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.states import JobState, Outcome

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import End, EndInquiry, Task, WatchedJob
    from jobmon_core.domain.slurm.rows import AccountingRow, Record


class Ending(NamedTuple):
    """What is known of a task that ended or left the queue, but whose outcome is not known yet."""

    state: JobState | None  # the final state; None if no source shows one
    started_s: int | None
    ended_s: int | None

    @property
    def text(self) -> str:
        """What is known, and what jobmon still waits for."""
        if self.state is None:
            return "no longer listed, outcome not known yet"
        return "ended, unless requeued" if self.state.may_return else "ended, waiting for details"

    @property
    def elapsed_s(self) -> int | None:
        """The run time in seconds, if its start and its end are known."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0, self.ended_s - self.started_s)


def ending_of(task: Task) -> Ending | None:
    """Return what is known of a task that does not run any more but has no outcome; None for any other."""
    if task.end or task.inquiry is None:
        return None
    shown, source = task.inquiry.queue_state, _final_row(task.inquiry)
    state = shown or (source.state if source else None)
    started_s = (source.start_s if source else None) or task.start_s
    ended_s = source.end_s if source else None
    # of a job that never got a node, Slurm reports the end as the start
    if started_s == ended_s and not task.has_started:
        started_s = None
    return Ending(state, started_s, ended_s)


def _final_row(inquiry: EndInquiry) -> AccountingRow | Record | None:
    rows = (inquiry.row, inquiry.record)
    return next((row for row in rows if row and not row.state.is_alive), None)


def may_still_run(job: WatchedJob) -> bool:
    """Whether a task of a job is not known to have ended, e.g. because nobody watches it any more."""
    ends = [task.end for task in job.tasks.values() if task.end]
    return not job.ended or any(end.outcome is Outcome.UNKNOWN for end in ends)


def state_text(end: End) -> str:
    """Return the final state, with the user who cancelled, e.g. ``CANCELLED by you``."""
    if end.cancelled_by is not None:
        return f"{end.state} by {canceller_name(end.cancelled_by)}"
    return end.raw_state or end.state


def end_text(end: End) -> str:
    """Return the final state, and the exit code or signal if it tells more, e.g. ``FAILED, exit code 1``."""
    # the exit code 0 of a job that timed out would confuse, as would the signal that cancelled a job
    shows_exit = (
        end.exit_code
        or (end.signal and end.state is JobState.FAILED)
        or (end.exit_code == 0 and end.state is JobState.COMPLETED)
    )
    return (
        f"{state_text(end)}, {exit_phrase(end.exit_code, end.signal, is_exact=end.exit_code_exact)}"
        if shows_exit
        else state_text(end)
    )
