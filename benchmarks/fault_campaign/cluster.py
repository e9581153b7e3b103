"""A cluster whose jobs do as they are told: their state stands in files, which every monitor reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.fault_campaign.scenario import Story
from jobmon_core.domain.slurm.job_ids import parse_listed
from jobmon_core.domain.slurm.log_paths import Templates
from jobmon_core.domain.slurm.rows import (
    NO_HURRY_S,
    AccountingRow,
    NotListed,
    QueueRow,
    RawAnswer,
    Record,
    RecordAnswer,
    Unreachable,
)
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.system.files import write_atomically
from jobmon_core.system.json_codec import from_json, to_json

CLUSTER = "replayed"


@dataclass(frozen=True, slots=True)
class Scene:
    """What squeue and sacct say of one job at present."""

    queue: tuple[QueueRow, ...]
    ledger: tuple[AccountingRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """The folder where the present scene of each job stands."""

    folder: Path

    def show(self, job_id: int, analysis: Scene) -> None:
        """Change what the cluster says of a job, in one step."""
        write_atomically(self._path(job_id), json.dumps(to_json(analysis)).encode(), durable=False)

    def clear(self, job_id: int) -> None:
        """Let the cluster forget a job."""
        self._path(job_id).unlink(missing_ok=True)

    def analysis(self, job_id: int) -> Scene | None:
        """Return what the cluster says of a job; None where it knows none."""
        try:
            return from_json(Scene, json.loads(self._path(job_id).read_bytes()))
        except FileNotFoundError:
            return None

    def job_ids(self) -> Iterator[int]:
        """Yield the jobs that the cluster knows."""
        yield from sorted(int(path.stem) for path in self.folder.glob("[0-9]*.json"))

    def _path(self, job_id: int) -> Path:
        return self.folder / f"{job_id}.json"


class ReplayedScheduler:
    """The cluster as a `Scheduler`."""

    name = "slurm"

    def __init__(self, stage: Stage, asked: Callable[[str], bool]) -> None:
        """Read from a stage; ``asked`` is called at each question, and says whether it is answered."""
        self.stage, self.asked = stage, asked

    def submit(self, arguments: Sequence[str], on_job: Callable[[Submitted], None]) -> Submission:  # noqa: ARG002 - as the contract has it
        """Refuse: the jobs of a campaign are on its stage already."""
        return Submission(1, None)

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:  # noqa: ARG002 - all jobs are one user's
        """Ask for the rows of all jobs."""
        if not self.asked("squeue"):
            return Unreachable("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
        return RawAnswer(
            json.dumps([to_json(row) for analysis in self._scenes() for row in analysis.queue]), 0.0
        )

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Read the rows of some jobs."""
        return tuple(from_json(QueueRow, row) for row in json.loads(text) if row["ref"]["job_id"] in job_ids)

    def ask_accounting(
        self,
        job_ids: Sequence[int],
        within_s: float = NO_HURRY_S,  # noqa: ARG002 - as the contract has it
    ) -> RawAnswer | Unreachable:
        """Ask for the runs of several jobs."""
        if not self.asked("sacct"):
            return Unreachable("sacct: error: slurmdbd: Sending PersistInit msg: Connection refused")
        scenes = [analysis for job_id in job_ids if (analysis := self.stage.analysis(job_id))]
        return RawAnswer(json.dumps([to_json(row) for analysis in scenes for row in analysis.ledger]), 0.0)

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:
        """Read the runs of one job."""
        rows = json.loads(text)
        return tuple(from_json(AccountingRow, row) for row in rows if row["ref"]["job_id"] == job_id)

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Ask for what the controller remembers of one job."""
        if not self.asked("scontrol"):
            return Unreachable("slurm_load_jobs error: Socket timed out on send/recv operation")
        analysis = self.stage.analysis(job_id)
        if analysis is None:
            return NotListed()
        codes = {row.ref: row.exit_code for row in analysis.ledger}
        return tuple(_record(row, codes.get(row.ref)) for row in analysis.queue)

    def ask_log_templates(self, job_id: int) -> Templates | None:  # noqa: ARG002 - as the contract has it
        """Tell nothing: the jobs write no logs."""
        return None

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - as the contract has it
        """Tell nothing: the jobs have no script."""
        return ""

    def cluster_name(self) -> str:
        """Return the name by which the cluster goes."""
        return CLUSTER

    def _scenes(self) -> Iterator[Scene]:
        yield from (analysis for job_id in self.stage.job_ids() if (analysis := self.stage.analysis(job_id)))


def _record(row: QueueRow, exit_code: int | None) -> Record:
    return Record(
        row.ref,
        row.state,
        row.raw_state,
        pending_indices=row.pending_indices,
        reason=row.reason,
        name="campaign",
        workdir="/",
        exit_code=exit_code,
    )


def waiting(story: Story, reason: str) -> Scene:
    """Return the scene of an array that has not started."""
    return Scene((_row(f"{story.job_id}_[0-{len(story.ends) - 1}]", "PENDING", reason),))


def running(story: Story) -> Scene:
    """Return the scene of an array whose tasks all run."""
    return Scene(tuple(_row(f"{story.job_id}_{task}", "RUNNING") for task in range(len(story.ends))))


def ended(story: Story, now_s: float) -> Scene:
    """Return the scene of an array whose tasks all ended."""
    rows, runs = [], []
    for task, (words, exit_code) in enumerate(story.ends):
        row = _row(f"{story.job_id}_{task}", words.split()[0])
        rows.append(row)
        run = AccountingRow(row.ref, row.state, words, exit_code=exit_code, nodes="n1")
        runs.append(replace(run, start_s=int(now_s) - 60, end_s=int(now_s)))
    return Scene(tuple(rows), tuple(runs))


def _row(listed: str, word: str, reason: str = "") -> QueueRow:
    ref, waiting_tasks = parse_listed(listed)
    state = JobState.from_slurm(word)
    return QueueRow(ref, state, word, reason=reason, pending_indices=waiting_tasks, nodes="n1")
