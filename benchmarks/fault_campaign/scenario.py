"""The jobs of a campaign, generated from a seed, and the messages that their user must get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jobmon_core.domain.channels import Route
from jobmon_core.scheduler.local.client import LocalScheduler

FIRST_JOB = 1000
_MAX_REPLAYED_TASKS = 5
_MAX_LOCAL_TASKS = 4
_PENDING_REASONS = (
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "JobHoldMaxRequeue",
    "DependencyNeverSatisfied",
)
_ENDS = (("COMPLETED", 0), ("COMPLETED", 0), ("FAILED", 1), ("TIMEOUT", 0), ("CANCELLED by 1000", 0))
_LOCAL_SCRIPT = "sleep $SLURM_ARRAY_TASK_ID.3; exit $(((SLURM_ARRAY_TASK_ID + {shift}) % 2))"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the user must be notified of: the message's id and its channel."""

    id: str
    job_id: int
    route: Route


@dataclass(frozen=True, slots=True)
class Scenario:
    """One job array: the successive reasons for which it stays pending, then the end of each task."""

    job_id: int
    pending_reasons: tuple[str, ...]
    ends: tuple[tuple[str, int], ...]  # Slurm's state and the exit code of each task
    backend: str = "slurm"  # replayed; "local" is a real array of processes on this machine

    @property
    def events(self) -> tuple[Event, ...]:
        """All messages that the user must get, in the order in which their causes happen."""
        stuck = (
            Event(f"{self.job_id}/{reason}", self.job_id, Route.ERROR) for reason in self.pending_reasons
        )
        return (*stuck, *(self._end(task, state) for task, (state, _) in enumerate(self.ends)))

    def _end(self, task: int, state: str) -> Event:
        route = Route.SUCCESS if state == "COMPLETED" else Route.ERROR
        return Event(f"{self.job_id}_{task}/end", self.job_id, route)


def replayed_scenarios(events: int, seed: int) -> Iterator[Scenario]:
    """Yield scenarios until they have at least ``events`` events; a seed always gives the same ones."""
    random = Random(seed)  # noqa: S311 - campaigns must be repeatable
    job_id = FIRST_JOB
    while events > 0:
        reasons = tuple(random.sample(_PENDING_REASONS, random.randrange(4)))
        tasks = random.choice((1, 1, _MAX_REPLAYED_TASKS))  # ends of single jobs share digests
        ends = tuple(random.choice(_ENDS) for _ in range(random.randint(1, tasks)))
        scenario = Scenario(job_id, reasons, ends)
        yield scenario
        events -= len(scenario.events)
        job_id += 1


def submit_local_arrays(arrays: int, folder: Path, seed: int) -> Iterator[Scenario]:
    """Submit arrays to jobmon's local scheduler and yield their scenarios; every other task fails."""
    random = Random(seed)  # noqa: S311 - campaigns must be repeatable
    scheduler = LocalScheduler(folder)
    for _ in range(arrays):
        tasks, shift = random.randint(2, _MAX_LOCAL_TASKS), random.randrange(2)
        script = _LOCAL_SCRIPT.format(shift=shift)
        options = ("-Q", f"--array=0-{tasks - 1}", "--output=/dev/null", f"--wrap={script}")
        job = scheduler.submit(options, lambda _job: None).job
        if job is None:
            raise RuntimeError("the local scheduler did not start a job")
        codes = [(task + shift) % 2 for task in range(tasks)]
        ends = tuple(("FAILED" if code else "COMPLETED", code) for code in codes)
        yield Scenario(job.ref.job_id, (), ends, scheduler.name)
