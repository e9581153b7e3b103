"""A job's life as a play: what the scheduler says goes in, what jobmon concludes comes out."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.decide import (
    Action,
    Diagnose,
    NotifyOutage,
    NotifyRecovered,
    QueryAccounting,
    QueryController,
    decide,
)
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.messages.scheduler_outage import (
    OutageNotice,
    may_notify,
    with_outage_message,
    with_recovery_message,
)
from jobmon_core.domain.slurm.job_ids import parse_listed
from jobmon_core.domain.slurm.rows import AccountingRow, Disabled, NotListed, QueueRow, Record, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.tracking.apply_queue import apply_queue, apply_record, mark_answered, mark_unreachable
from jobmon_core.domain.tracking.model import End, WatchedJob
from jobmon_core.domain.tracking.policy import Policy

JOB = 12
START_S = 1_000_000.0


def row(listed: str, word: str, reason: str = "", submit_s: int = 1_000_000) -> QueueRow:
    """A row of squeue."""
    ref, waiting = parse_listed(listed)
    return QueueRow(
        ref,
        JobState.from_slurm(word),
        word,
        reason=reason,
        pending_indices=waiting,
        submit_s=submit_s,
        nodes="n1",
    )


def record(listed: str, word: str, exit_code: int = 0, signal: int = 0) -> Record:
    """A record of scontrol."""
    ref, waiting = parse_listed(listed)
    state = JobState.from_slurm(word)
    return Record(
        ref,
        state,
        word,
        pending_indices=waiting,
        name="train",
        workdir="/w",
        exit_code=exit_code,
        signal=signal,
    )


def ledger(listed: str, words: str, exit_code: int = 0, submit_s: int = 1_000_000) -> AccountingRow:
    """A row of sacct."""
    ref, waiting = parse_listed(listed)
    by = int(words.rpartition(" by ")[2]) if " by " in words else None
    return AccountingRow(
        ref,
        JobState.from_slurm(words),
        words,
        pending_indices=waiting,
        cancelled_by=by,
        exit_code=exit_code,
        submit_s=submit_s,
        start_s=submit_s + 1,
        end_s=submit_s + 61,
    )


class Play:
    """One watched job on a stage without I/O and with a clock that only the script moves."""

    def __init__(self, policy: Policy | None = None, scope: str = "") -> None:
        self.policy = policy or Policy()
        self.now_s = START_S
        self.job = WatchedJob("t-12", JOB, START_S - 1, watched_part=scope, user="me")
        self.notice = OutageNotice()
        self.actions: tuple[Action, ...] = ()

    def later(self, seconds: float) -> Play:
        """Let time pass."""
        self.now_s += seconds
        return self._decide()

    def queue(self, *rows: QueueRow) -> Play:
        """squeue answers."""
        self.job = apply_queue(self.job, rows, self.now_s, self.policy)
        return self._decide()

    def answered(self) -> Play:
        """squeue answers when all is told of the job, and only the outage is still of interest."""
        self.job = mark_answered(self.job, self.now_s)
        return self._decide()

    def queue_down(self) -> Play:
        """squeue does not answer."""
        self.job = mark_unreachable(self.job, "connect failure", self.now_s)
        return self._decide()

    def record(self, *records: Record) -> Play:
        """scontrol answers; with nothing, that it does not know the job."""
        self.job = apply_record(self.job, records or NotListed(), self.now_s)
        return self._decide()

    def record_down(self) -> Play:
        """scontrol does not answer."""
        self.job = apply_record(self.job, Unreachable("connect failure"), self.now_s)
        return self._decide()

    def accounting(self, *rows: AccountingRow) -> Play:
        """sacct answers."""
        self.job = apply_accounting(self.job, rows, self.policy, self.now_s)
        return self._decide()

    def accounting_down(self) -> Play:
        """sacct does not answer."""
        self.job = apply_accounting(self.job, Unreachable("no database"), self.policy, self.now_s)
        return self._decide()

    def no_accounting(self) -> Play:
        """This cluster keeps none."""
        self.job = apply_accounting(self.job, Disabled(), self.policy, self.now_s)
        return self._decide()

    def asks_accounting(self) -> bool:
        """Whether accounting is to be asked now."""
        return QueryAccounting() in self.actions

    def asks_record(self) -> bool:
        """Whether slurmctld is to be asked for the record now."""
        return QueryController() in self.actions

    def end(self, key: str = "") -> End:
        """How a part ended; fails where it has not."""
        end = self.job.tasks[key].end
        assert end is not None, self.job.tasks[key]
        return end

    def _decide(self) -> Play:
        self.job, self.actions = decide(self.job, self.policy, self.now_s)
        if NotifyOutage() in self.actions and may_notify(
            self.notice, self.policy, self.now_s, teller_watches=True
        ):
            self.job, self.notice = (
                with_outage_message(self.job, "login1", self.now_s, "Slurm"),
                OutageNotice(self.job.id),
            )
            return self._decide()
        if NotifyRecovered() in self.actions:
            self.job = with_recovery_message(self.job, self.notice, "login1", self.now_s, "Slurm")
            self.notice = replace(self.notice, over_s=self.now_s)
            return self._decide()
        explained = [action for action in self.actions if isinstance(action, Diagnose)]
        if explained:
            tasks = {
                key: replace(self.job.tasks[key], diagnosis=Diagnosis(None, "", "", ""))
                for key in explained[0].keys
            }
            self.job = replace(self.job, tasks={**self.job.tasks, **tasks})
            return self._decide()
        return self
