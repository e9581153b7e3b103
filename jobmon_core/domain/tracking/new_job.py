"""A job at the moment that jobmon takes it on, before anything else is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

DEFAULT_BACKEND = "slurm"


@dataclass(frozen=True, slots=True)
class NewJob:
    """The first content of a state file: those fields of `WatchedJob` that a submission tells.

    A module of its own, because `jobmon submit` must add little to sbatch's own time.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {"registered_s": "taken_s"}

    id: str
    job_id: int
    registered_s: float  # Unix seconds
    not_before_s: float  # likewise
    backend: str
    cluster: str = ""
    remote: bool = False
    user: str = ""
