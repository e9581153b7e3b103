"""A starter of monitors that starts none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context


class ListingStarter(MonitorStarter):
    """Lists the jobs to monitor, and starts nothing."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.started: list[str] = []

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Note the jobs."""
        self.started += job_ids
        return tuple(job_ids)
