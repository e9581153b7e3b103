"""A scripted job: the test plays the scheduler's answers and reads what jobmon concludes from them."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.decide import (
    Action,
    Diagnose,
    Step,
    decide,
)
from jobmon_core.domain.job.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.job.tracking.apply_queue import apply_queue, mark_answered, mark_unreachable
from jobmon_core.domain.job.tracking.apply_record import apply_record
from jobmon_core.domain.job.tracking.model import End, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.messages.scheduler_outage import (
    OutageNotice,
    may_notify,
    with_outage_message,
    with_recovery_message,
)
from jobmon_core.domain.slurm.job_ids import parse_listed
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState

JOB = 12
START_S = 1_000_000.0


def row(listed: str, raw_state: str, reason: str = "", submit_s: int = 1_000_000) -> JobRow:
    """Return a row of squeue."""
    ref, pending = parse_listed(listed)
    return JobRow(
        ref,
        JobState.from_slurm(raw_state),
        raw_state,
        reason=reason,
        pending_indices=pending,
        submit_s=submit_s,
        nodes="n1",
    )


def record(listed: str, raw_state: str, exit_code: int = 0, signal: int = 0) -> JobRow:
    """Return a record of scontrol."""
    ref, pending = parse_listed(listed)
    return JobRow(
        ref,
        JobState.from_slurm(raw_state),
        raw_state,
        pending_indices=pending,
        name="train",
        workdir="/w",
        exit_code=exit_code,
        signal=signal,
    )


def sacct_row(listed: str, raw_state: str, exit_code: int = 0, submit_s: int = 1_000_000) -> JobRow:
    """Return a row of sacct."""
    ref, pending = parse_listed(listed)
    uid = int(raw_state.rpartition(" by ")[2]) if " by " in raw_state else None
    return JobRow(
        ref,
        JobState.from_slurm(raw_state),
        raw_state,
        pending_indices=pending,
        cancelled_by=uid,
        exit_code=exit_code,
        submit_s=submit_s,
        start_s=submit_s + 1,
        end_s=submit_s + 61,
    )


class Play:
    """One watched job without any I/O, with a clock that only the test moves."""

    def __init__(
        self, policy: Policy | None = None, watched_part: str = "", submitted_indices: str = ""
    ) -> None:
        self.policy = policy or Policy()
        self.now_s = START_S
        self.job = WatchedJob(
            "t-12",
            JOB,
            START_S - 1,
            watched_part=watched_part,
            user="me",
            submitted_indices=submitted_indices,
        )
        self.notice = OutageNotice()
        self.actions: tuple[Action, ...] = ()

    def later(self, seconds: float) -> Play:
        """Let time pass, without any answer."""
        self.now_s += seconds
        return self._decide()

    def queue(self, *rows: JobRow, asked_ago_s: float = 0.0) -> Play:
        """Apply an answer of squeue, which another monitor may have asked for a while ago."""
        self.job = apply_queue(self.job, rows, self.now_s - asked_ago_s, self.policy, self.now_s)
        return self._decide()

    def answered(self) -> Play:
        """Apply an answer of squeue to a closed job, which only waits for the end of an outage."""
        self.job = mark_answered(self.job, self.now_s)
        return self._decide()

    def queue_down(self) -> Play:
        """Apply a failed squeue query."""
        self.job = mark_unreachable(self.job, "connect failure", self.now_s)
        return self._decide()

    def record(self, *records: JobRow) -> Play:
        """Apply an answer of scontrol; without records, it does not know the job."""
        self.job = apply_record(self.job, records or NotListed(), self.now_s)
        return self._decide()

    def record_down(self) -> Play:
        """Apply a failed scontrol query."""
        self.job = apply_record(self.job, Unreachable("connect failure"), self.now_s)
        return self._decide()

    def accounting(self, *rows: JobRow) -> Play:
        """Apply an answer of sacct."""
        self.job = apply_accounting(self.job, rows, self.policy, self.now_s)
        return self._decide()

    def accounting_down(self) -> Play:
        """Apply a failed sacct query."""
        self.job = apply_accounting(self.job, Unreachable("no database"), self.policy, self.now_s)
        return self._decide()

    def no_accounting(self) -> Play:
        """Apply the answer of a cluster without accounting."""
        self.job = apply_accounting(self.job, Disabled(), self.policy, self.now_s)
        return self._decide()

    def ends(self, *ends: tuple[str, str, int]) -> Play:
        """Apply the same ends from squeue, scontrol and sacct: job id, state and exit code of each."""
        self.queue(*(row(listed, state) for listed, state, _ in ends)).record(*(record(*end) for end in ends))
        return self.later(3).accounting(*(sacct_row(*end) for end in ends))

    def asks_accounting(self) -> bool:
        """Whether jobmon wants to query accounting now."""
        return Step.QUERY_ACCOUNTING in self.actions

    def asks_record(self) -> bool:
        """Whether jobmon wants to query slurmctld for the record now."""
        return Step.QUERY_CONTROLLER in self.actions

    def end(self, key: str = "") -> End:
        """Return how a task ended; fail if it has not."""
        end = self.job.tasks[key].end
        assert end is not None, self.job.tasks[key]
        return end

    def _decide(self) -> Play:
        self.job, self.actions = decide(self.job, self.policy, self.now_s)
        if Step.NOTIFY_OUTAGE in self.actions and may_notify(
            self.notice, self.policy, self.now_s, reporter_is_active=True
        ):
            self.job, self.notice = (
                with_outage_message(self.job, "login1", self.now_s, "Slurm"),
                OutageNotice(self.job.id),
            )
            return self._decide()
        if Step.NOTIFY_RECOVERED in self.actions:
            self.job = with_recovery_message(self.job, self.notice, "login1", self.now_s)
            self.notice = replace(self.notice, over_s=self.now_s)
            return self._decide()
        diagnose = next((action for action in self.actions if isinstance(action, Diagnose)), None)
        if diagnose:
            tasks = {
                key: replace(self.job.tasks[key], diagnosis=Diagnosis(None, "", "", ""))
                for key in diagnose.keys
            }
            self.job = replace(self.job, tasks={**self.job.tasks, **tasks})
            return self._decide()
        if Step.RECORD in self.actions:
            self.job = replace(self.job, record_due_s=None)
            return self._decide()
        return self
