"""A job when jobmon begins to watch it, right after its submission."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from jobmon_core.domain.job.job_settings import JobSettings


@dataclass(frozen=True, slots=True)
class NewJob:
    """The first content of a state file: the fields of `WatchedJob` that a submission knows.

    It has its own module because `jobmon submit` must start fast.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {"registered_s": "taken_s"}

    id: str
    job_id: int
    registered_s: float  # Unix seconds
    not_before_s: float  # Unix seconds
    backend: str
    cluster: str = ""
    remote: bool = False
    user: str = ""
    submitted_indices: str = ""
    settings: JobSettings | None = None
