"""A complete backend in one file: a job is a file that holds its state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, RecordAnswer
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Backend, BackendResources, Submission, Submitted


class ToyScheduler:
    name = "toy"

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        self._folder = folder
        self._now = now

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        if on_start:
            on_start()
        job = Submitted(JobRef(int(arguments[0])))
        self.set_state(job.ref.job_id, JobState.RUNNING)
        on_job(job)
        return Submission(0, job)

    def set_state(self, job_id: int, state: JobState) -> None:
        (self._folder / str(job_id)).write_text(state, encoding="utf-8")

    def ask_queue(self, user: str) -> str:  # noqa: ARG002 - all jobs belong to one user
        rows = (f"{file.name} {file.read_text(encoding='utf-8')}\n" for file in self._folder.iterdir())
        return "".join(rows)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        rows = (line.split() for line in text.splitlines())
        return tuple(
            JobRow(JobRef(int(job_id)), JobState(state), state)
            for job_id, state in rows
            if int(job_id) in job_ids
        )

    def ask_accounting(self, job_ids: Sequence[int], within_s: float = NO_HURRY_S) -> Disabled:  # noqa: ARG002 - it has no accounting
        return Disabled()

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:  # noqa: ARG002 - as above
        return ()

    def ask_record(self, job_id: int) -> RecordAnswer:
        file = self._folder / str(job_id)
        if not file.exists():
            return NotListed()
        state = JobState(file.read_text(encoding="utf-8"))
        return (JobRow(JobRef(job_id), state, state, exit_code=0),)

    def ask_log_templates(self, job_id: int) -> LogPaths | None:  # noqa: ARG002 - its jobs write no logs
        return None

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - its jobs have no scripts
        return ""

    def cluster_name(self) -> str:
        return ""


def toy_backend(now: Callable[[], float]) -> Backend:
    """Return the backend; ``now`` dates its answers (Unix seconds)."""

    def scheduler(resources: BackendResources, _cluster: str = "") -> ToyScheduler:
        return ToyScheduler(resources.folder(), now)

    return Backend("toy", "Toy", scheduler, scheduler)
