"""How a member of a group is: what the group's log, its digest and its summary say about one job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobmon_core.domain.job.efficiency.model import Efficiency, efficiency_of_end
from jobmon_core.domain.job.tracking.model import FROM_WORST, End, WatchedJob
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.pending_reasons import STUCK_REASONS
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase

NOT_SUBMITTED = "NOT_SUBMITTED"
UNWATCHED = "UNWATCHED"
UNREADABLE = "UNREADABLE"  # its state file is damaged
_NEVER_STARTS = "will never start"
_OUTCOME_WORDS = {
    Outcome.SUCCESS: "completed",
    Outcome.FAILURE: "failed",
    Outcome.CANCELLED: "cancelled",
    Outcome.UNKNOWN: "with unknown outcome",
}


class MemberView(NamedTuple):
    """One member as its job's state file shows it. None means "not known"."""

    state: str = NOT_SUBMITTED  # of the job: Slurm's word, or one of the words above
    job_id: str = ""
    outcome: Outcome | None = None  # None until it ended
    is_over: bool = False  # whether it ended and its end is explained, or it is no longer watched
    is_doubtful: bool = False
    never_starts: str = ""  # Slurm's reason why it never will
    started_s: float | None = None
    ended_s: float | None = None
    limit_s: int | None = None
    usage: Usage = Usage()
    cause: str = ""  # of a failure or a doubtful success, in a few words
    fingerprint: str = ""  # equal for members that failed in the same way
    log_folder: str = ""
    gpu_hours: float | None = None  # of all its tasks
    other_cluster: str = ""  # the cluster of `sbatch -M`
    is_ending: bool = False  # the scheduler shows an end that is not concluded, or another attempt is due
    is_attempt: bool = False  # another may follow
    unanswered_since_s: float | None = None  # the scheduler has not answered since
    unanswered_why: str = ""  # the scheduler's error
    task_states: tuple[str, ...] = ()  # of an array
    task_words: tuple[str, ...] = ()  # of an ended array, what became of each task, as `word_of` says it
    metrics: str = ""  # the last figures of its log, e.g. ``loss 0.412, accuracy 0.93``

    @property
    def states(self) -> tuple[str, ...]:
        """Of each task of an array, else of the job."""
        return self.task_states or (self.state,)

    @property
    def words(self) -> tuple[str, ...]:
        """The same as words."""
        return self.task_words or (word_of(self),)

    @property
    def efficiency(self) -> Efficiency:
        """What its last run used of its request; of an array, what the worst task used."""
        run_s = self.elapsed_s if self.usage.run_s is None else self.usage.run_s
        return Efficiency(JobState.from_slurm(self.state), run_s, self.limit_s, self.usage)

    @property
    def elapsed_s(self) -> float | None:
        """How long its last run took; of an array, from the first start to the last end."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0.0, self.ended_s - self.started_s)


def word_of(view: MemberView) -> str:
    """Return what became of a member, e.g. ``completed``."""
    if view.outcome is None:
        if view.never_starts:
            return "can never start"
        return "not watched"
    return _word(view.outcome, is_doubtful=view.is_doubtful)


def _word(outcome: Outcome, *, is_doubtful: bool) -> str:
    if is_doubtful:
        return "doubtful"
    return _OUTCOME_WORDS[outcome]


def view_of(job: WatchedJob) -> MemberView:
    """Return how a job is. Of an array or het job, the worst task stands for all of them."""
    starts = [task.start_s for task in job.tasks.values() if task.start_s is not None]
    view = MemberView(
        state=_state(job),
        job_id=str(ref_of(job.job_id, job.watched_part)),
        other_cluster=job.other_cluster,
        is_over=job.is_over,
        never_starts=_never_starts(job),
        started_s=min(starts, default=None),
        log_folder="".join(job.logs.stdout.rpartition("/")[:2]),
        is_ending=_is_ending(job) or job.is_restarting,
        is_attempt=job.attempt is not None,
        unanswered_why=job.stale_why,
    )
    if not job.closed:
        view = view._replace(unanswered_since_s=job.stale_since_s)
    if job.is_array:
        view = view._replace(task_states=tuple(_task_states(job)))
    if job.ended and not job.is_restarting:
        return _with_end(view, job)
    return view


def _with_end(view: MemberView, job: WatchedJob) -> MemberView:
    ends = [(task, task.end) for task in job.tasks.values() if task.end]
    task, end = min(ends, key=lambda each: FROM_WORST.index(each[1].outcome))
    hours = [*_gpu_hours(job)]
    view = view._replace(
        outcome=job.outcome,
        is_doubtful=job.is_doubtful_success,
        ended_s=max((each.ended_s for _, each in ends if each.ended_s is not None), default=None),
        limit_s=end.limit_s,
        usage=end.usage,
        cause=_plain_cause(end),
        gpu_hours=sum(hours) if hours else None,
    )
    if len(ends) == 1:
        view = view._replace(started_s=end.started_s)
    found = task.diagnosis
    if found and found.cause:
        view = view._replace(cause=found.headline)
    if found and end.outcome is Outcome.FAILURE:
        view = view._replace(fingerprint=found.fingerprint)
    if job.is_array:
        return view._replace(task_words=_task_words(job))
    if found:
        return view._replace(metrics=found.figures)
    return view


def _task_states(job: WatchedJob) -> Iterator[str]:
    for task in job.tasks.values():
        yield task.end.state if task.end else task.raw_state or JobState.UNKNOWN
    for _ in IndexSet.parse(job.pending_indices):
        yield JobState.PENDING


def _task_words(job: WatchedJob) -> tuple[str, ...]:
    return tuple(
        _word(task.end.outcome, is_doubtful=task.is_doubtful_success)
        for task in job.tasks.values()
        if task.end
    )


def _is_ending(job: WatchedJob) -> bool:
    states = [task.state for task in job.tasks.values() if task.end is None]
    return bool(states) and not job.pending_indices and all(each.phase is Phase.ENDED for each in states)


def _gpu_hours(job: WatchedJob) -> Iterator[float]:
    for task in job.tasks.values():
        if task.end and (hours := efficiency_of_end(task.end).gpu_hours) is not None:
            yield hours


def _state(job: WatchedJob) -> str:
    if job.ended:
        ends = (task.end for task in job.tasks.values() if task.end)
        return min(ends, key=lambda end: FROM_WORST.index(end.outcome)).state
    if job.unwatched_s is not None:
        return UNWATCHED
    states = [task.state for task in job.tasks.values() if task.end is None]
    for phase in (Phase.ACTIVE, Phase.FINISHING):
        if active := [state for state in states if state.phase is phase]:
            return active[0]
    if states and states[0].phase is not Phase.UNKNOWN:
        return states[0]
    return JobState.PENDING


def _never_starts(job: WatchedJob) -> str:
    """Return Slurm's reason why none of the remaining tasks will ever start; empty if one may, or runs."""
    reasons = {task.reason.strip("()") for task in job.tasks.values() if task.end is None}
    if job.pending_indices:
        reasons.add(job.pending_reason.strip("()"))
    if any(task.start_s is not None and task.end is None for task in job.tasks.values()) or len(reasons) != 1:
        return ""
    (reason,) = reasons
    hint = STUCK_REASONS.get(reason)
    if hint and hint.problem.startswith(_NEVER_STARTS):
        return reason
    return ""


def _plain_cause(end: End) -> str:
    if end.outcome is Outcome.SUCCESS:
        return ""
    if end.state is JobState.FAILED and end.exit_code:
        return f"exit code {end.exit_code}"
    return end.state
