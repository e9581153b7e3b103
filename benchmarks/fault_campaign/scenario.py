"""What happens to the jobs of a campaign, made up from a seed, and what their user must be told of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from jobmon_core.domain.channels import Route

FIRST_JOB = 1000
_MOST_TASKS = 5
_HINDRANCES = (
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "JobHoldMaxRequeue",
    "DependencyNeverSatisfied",
)
_ENDS = (("COMPLETED", 0), ("COMPLETED", 0), ("FAILED", 1), ("TIMEOUT", 0), ("CANCELLED by 1000", 0))


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that the user must be told: the id of its message, and on which channel it belongs."""

    id: str
    job_id: int
    route: Route


@dataclass(frozen=True, slots=True)
class Story:
    """The life of one array: what keeps it from starting, one after the other, then the end of each task."""

    job_id: int
    hindrances: tuple[str, ...]
    ends: tuple[tuple[str, int], ...]  # Slurm's words and the exit code, task by task
    backend: str = "slurm"  # replayed; or "local", a real array of processes on this machine

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that its user must be told, in the order in which it happens."""
        hindered = (Event(f"{self.job_id}/{why}", self.job_id, Route.ERROR) for why in self.hindrances)
        return (*hindered, *(self._end(task, words) for task, (words, _) in enumerate(self.ends)))

    def _end(self, task: int, words: str) -> Event:
        route = Route.SUCCESS if words == "COMPLETED" else Route.ERROR
        return Event(f"{self.job_id}_{task}/end", self.job_id, route)


def stories(events: int, seed: int) -> Iterator[Story]:
    """Yield stories until there is so much to tell; the same for the same seed."""
    dice = Random(seed)  # noqa: S311 - a campaign can be repeated
    job_id = FIRST_JOB
    while events > 0:
        hindrances = dice.sample(_HINDRANCES, dice.randrange(4))
        ends = tuple(dice.choice(_ENDS) for _ in range(dice.randint(1, _MOST_TASKS)))
        story = Story(job_id, tuple(hindrances), ends)
        yield story
        events -= len(story.events)
        job_id += 1
