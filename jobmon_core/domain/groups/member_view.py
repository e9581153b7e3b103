"""How a member of a group is: what the group's log, its digest and its summary say about one job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobmon_core.domain.efficiency.model import Efficiency, efficiency_of_end
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.pending_reasons import STUCK_REASONS
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase
from jobmon_core.domain.tracking.model import FROM_WORST, End, Task, WatchedJob

NOT_SUBMITTED = "NOT_SUBMITTED"
UNWATCHED = "UNWATCHED"
UNREADABLE = "UNREADABLE"  # its state file is damaged
_NEVER_STARTS = "will never start"


class MemberView(NamedTuple):
    """One member as its job's state file shows it. None means "not known"."""

    state: str = NOT_SUBMITTED  # of the job: Slurm's word, or one of the words above
    job_id: str = ""
    outcome: Outcome | None = None  # None until it ended
    is_over: bool = False  # whether it ended and its end is explained, or it is no longer watched
    is_doubtful: bool = False
    never_starts: str = ""  # Slurm's reason why it never will; empty if it may
    started_s: float | None = None
    ended_s: float | None = None
    limit_s: int | None = None
    usage: Usage = Usage()
    cause: str = ""  # why it did not succeed, or why its success is doubtful, in a few words
    fingerprint: str = ""  # equal for members that failed in the same way; empty if nothing is known
    log_folder: str = ""
    gpu_hours: float | None = None  # of all its tasks; None if it had no GPUs
    other_cluster: str = ""  # the cluster of `sbatch -M`; empty for the local one

    @property
    def efficiency(self) -> Efficiency:
        """What its last run used of its request; of an array, what the worst task used."""
        run_s = self.elapsed_s if self.usage.run_s is None else self.usage.run_s
        return Efficiency(JobState.from_slurm(self.state), run_s, self.limit_s, self.usage)

    @property
    def elapsed_s(self) -> float | None:
        """How long its last run took, in seconds; of an array, from the first start to the last end."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0.0, self.ended_s - self.started_s)


def view_of(job: WatchedJob) -> MemberView:
    """Return how a job is. Of an array or het job, the worst task stands for all of them."""
    ends = [(task, task.end) for task in job.tasks.values() if task.end]
    log_path = job.logs.stdout
    view = MemberView(
        state=_state(job),
        job_id=str(ref_of(job.job_id, job.watched_part)),
        other_cluster=job.cluster if job.remote else "",
        is_over=job.closed,
        never_starts=_never_starts(job),
        started_s=min(
            (task.start_s for task in job.tasks.values() if task.start_s is not None), default=None
        ),
        log_folder=log_path.rpartition("/")[0] + "/" if "/" in log_path else "",
    )
    if not job.ended:
        return view
    task, end = min(ends, key=lambda each: FROM_WORST.index(each[1].outcome))
    diagnosis = task.diagnosis
    has_cause = diagnosis is not None and bool(diagnosis.cause)
    return view._replace(
        outcome=job.outcome,
        is_doubtful=job.is_doubtful_success,
        started_s=end.started_s if len(ends) == 1 else view.started_s,
        ended_s=max((each.ended_s for _, each in ends if each.ended_s is not None), default=None),
        limit_s=end.limit_s,
        usage=end.usage,
        cause=diagnosis.headline if diagnosis and has_cause else _plain_cause(end),
        fingerprint=_fingerprint(task, end),
        gpu_hours=sum(hours) if (hours := [*_gpu_hours(job)]) else None,
    )


def _gpu_hours(job: WatchedJob) -> Iterator[float]:
    for task in job.tasks.values():
        if task.end and (hours := efficiency_of_end(task.end).gpu_hours) is not None:
            yield hours


def _state(job: WatchedJob) -> str:
    """Return one state for the whole job.

    It is that of the worst end if the job has ended, `UNWATCHED` if it is no longer watched, else that of a
    task that runs, else of one that waits.
    """
    if job.ended:
        ends = (task.end for task in job.tasks.values() if task.end)
        return min(ends, key=lambda end: FROM_WORST.index(end.outcome)).state
    if job.unwatched_s is not None:
        return UNWATCHED
    states = [task.state for task in job.tasks.values() if task.end is None]
    for phase in (Phase.ACTIVE, Phase.FINISHING):
        if active := [state for state in states if state.phase is phase]:
            return active[0]
    return states[0] if states and states[0].phase is not Phase.UNKNOWN else JobState.PENDING


def _never_starts(job: WatchedJob) -> str:
    """Return Slurm's reason why none of the remaining tasks will ever start; empty if one may, or runs."""
    reasons = {task.reason.strip("()") for task in job.tasks.values() if task.end is None}
    if job.pending_indices:
        reasons.add(job.pending_reason.strip("()"))
    if any(task.start_s is not None and task.end is None for task in job.tasks.values()) or len(reasons) != 1:
        return ""
    (reason,) = reasons
    hint = STUCK_REASONS.get(reason)
    return reason if hint and hint.problem.startswith(_NEVER_STARTS) else ""


def _plain_cause(end: End) -> str:
    if end.outcome is Outcome.SUCCESS:
        return ""
    return f"exit code {end.exit_code}" if end.state is JobState.FAILED and end.exit_code else end.state


def _fingerprint(task: Task, end: End) -> str:
    if end.outcome is not Outcome.FAILURE:
        return ""
    return task.diagnosis.fingerprint if task.diagnosis else ""
