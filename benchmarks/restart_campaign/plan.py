"""What a campaign must reach, and what its lineages do, generated from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TOTAL, EVERY = 60, 5  # steps of a training, and between two checkpoints
PACE_S = 0.1  # of a step
_LAYOUTS = ("rename", "marker", "torn", "highest")
_FATES = ("exit:75", "exit:99", "segv")  # ends after which the table restarts
_MAX_FATES = 3
_SENTINELS = 0.25  # share of the lineages that only a sentinel carries on
_FIRST_KILLED = 0.07  # share of the lineages whose first submission is killed
# how often each kind is tried
KINDS = {
    "monitor": 10,
    "helper of a monitor": 4,
    "sentinel": 2,
    "attempt": 3,
    "sbatch in the middle": 7,
    "submission before sbatch": 4,
    "submission after sbatch": 6,
    "submission whose sbatch is slow": 4,
    "slurmctld": 1,
    "slurmdbd": 1,
    "home full": 3,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign must reach, and its limits."""

    kills: int
    lineages: int
    at_once: int
    seed: int
    limit_s: float


@dataclass(frozen=True, slots=True)
class LineagePlan:
    """One training: how it saves, and how its first attempts end."""

    number: int
    layout: str
    fates: str
    has_sentinel: bool
    first_is_killed: bool  # the first submission

    @property
    def name(self) -> str:
        """The name of its jobs."""
        return f"lineage-{self.number:03}"


def lineage_plans(plan: Plan) -> list[LineagePlan]:
    """Return the lineages of a campaign; a seed always gives the same ones."""
    random = Random(plan.seed)  # noqa: S311 - campaigns must be repeatable
    found = []
    for number in range(plan.lineages):
        saves = sorted(random.sample(range(1, TOTAL // EVERY), _MAX_FATES))  # at least one before each fate
        steps = [EVERY * save + random.randrange(1, EVERY) for save in saves]
        chosen = [f"{random.choice(_FATES)}@{step}" for step in steps[: random.randint(1, _MAX_FATES)]]
        found.append(
            LineagePlan(
                number,
                random.choice(_LAYOUTS),
                ",".join(chosen),
                has_sentinel=random.random() < _SENTINELS,
                first_is_killed=random.random() < _FIRST_KILLED,
            )
        )
    return found
