"""The local backend: creates its adapter. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.local.client import LocalScheduler


def _scheduler(resources: BackendResources, _cluster: str = "") -> LocalScheduler:
    from jobmon_core.scheduler.local.client import LocalScheduler

    return LocalScheduler(resources.folder())


LOCAL = Backend(
    name="local",
    display_name="The local scheduler",
    submitter=_scheduler,
    scheduler=_scheduler,
)
