"""A replayed Slurm cluster: one file per job holds what squeue and sacct answer about the job."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.fault_campaign.scenario import Scenario
from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.job_ids import parse_listed
from jobmon_core.domain.slurm.rows import JobRow, NotListed, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.system.files import write_atomically
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.scheduler import FakeScheduler


@dataclass(frozen=True, slots=True)
class JobAnswers:
    """What squeue and sacct answer about one job."""

    queue: tuple[JobRow, ...]
    accounting: tuple[JobRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplayedCluster:
    """The folder with the current answers about each job."""

    folder: Path

    def write(self, job_id: int, answers: JobAnswers) -> None:
        """Replace the answers about a job atomically."""
        write_atomically(self._path(job_id), json.dumps(to_json(answers)).encode(), durable=False)

    def remove(self, job_id: int) -> None:
        """Remove a job from the cluster."""
        self._path(job_id).unlink(missing_ok=True)

    def read(self, job_id: int) -> JobAnswers | None:
        """Return the answers about a job; None if the cluster does not know it."""
        try:
            return from_json(JobAnswers, json.loads(self._path(job_id).read_bytes()))
        except FileNotFoundError:
            return None

    def read_all(self, job_ids: Iterable[int] | None = None) -> list[JobAnswers]:
        """Return the answers about these jobs, by default about all, without unknown ones."""
        if job_ids is None:
            job_ids = sorted(int(path.stem) for path in self.folder.glob("[0-9]*.json"))
        return [answers for job_id in job_ids if (answers := self.read(job_id))]

    def _path(self, job_id: int) -> Path:
        return self.folder / f"{job_id}.json"


class ReplayedScheduler(FakeScheduler):
    """The cluster as a `Scheduler`; its jobs have neither logs nor scripts."""

    name = "slurm"

    def __init__(self, cluster: ReplayedCluster, on_query: Callable[[str], bool]) -> None:
        """Answer from ``cluster``, unless ``on_query``, called with the program's name, returns False."""
        super().__init__()
        self.replayed, self.on_query = cluster, on_query

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - all jobs belong to one user
        """Return the rows of all jobs."""
        if not self.on_query("squeue"):
            return Unreachable("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
        rows = [to_json(row) for answers in self.replayed.read_all() for row in answers.queue]
        return json.dumps(rows)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """Parse the rows of some jobs."""
        return tuple(from_json(JobRow, row) for row in json.loads(text) if row["ref"]["job_id"] in job_ids)

    def ask_accounting(
        self,
        job_ids: Sequence[int],
        within_s: float = NO_HURRY_S,  # noqa: ARG002 - as in Scheduler
    ) -> str | Unreachable:
        """Return the runs of several jobs."""
        if not self.on_query("sacct"):
            return Unreachable("sacct: error: slurmdbd: Sending PersistInit msg: Connection refused")
        rows = [to_json(row) for answers in self.replayed.read_all(job_ids) for row in answers.accounting]
        return json.dumps(rows)

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:
        """Parse the runs of one job."""
        rows = json.loads(text)
        return tuple(from_json(JobRow, row) for row in rows if row["ref"]["job_id"] == job_id)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Return the controller's records of one job."""
        if not self.on_query("scontrol"):
            return Unreachable("slurm_load_jobs error: Socket timed out on send/recv operation")
        answers = self.replayed.read(job_id)
        if answers is None:
            return NotListed()
        codes = {row.ref: row.exit_code for row in answers.accounting}
        return tuple(_record(row, codes.get(row.ref)) for row in answers.queue)


def _record(row: JobRow, exit_code: int | None) -> JobRow:
    return JobRow(
        row.ref,
        row.state,
        row.raw_state,
        pending_indices=row.pending_indices,
        reason=row.reason,
        name="campaign",
        workdir="/",
        exit_code=exit_code,
    )


def pending(scenario: Scenario, reason: str) -> JobAnswers:
    """Return the answers about an array that is pending."""
    return JobAnswers((_row(f"{scenario.job_id}_[0-{len(scenario.ends) - 1}]", "PENDING", reason),))


def running(scenario: Scenario) -> JobAnswers:
    """Return the answers about an array whose tasks all run."""
    return JobAnswers(
        tuple(_row(f"{scenario.job_id}_{task}", "RUNNING") for task in range(len(scenario.ends)))
    )


def ended(scenario: Scenario, now_s: float) -> JobAnswers:
    """Return the answers about an array whose tasks all ended."""
    rows, runs = [], []
    for task, (raw_state, exit_code) in enumerate(scenario.ends):
        row = _row(f"{scenario.job_id}_{task}", raw_state.split()[0])
        rows.append(row)
        run = JobRow(row.ref, row.state, raw_state, exit_code=exit_code, nodes="n1")
        runs.append(replace(run, start_s=int(now_s) - 60, end_s=int(now_s)))
    return JobAnswers(tuple(rows), tuple(runs))


def _row(listed: str, raw_state: str, reason: str = "") -> JobRow:
    ref, pending_indices = parse_listed(listed)
    return JobRow(
        ref,
        JobState.from_slurm(raw_state),
        raw_state,
        reason=reason,
        pending_indices=pending_indices,
        nodes="n1",
    )
