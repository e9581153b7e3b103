"""How long the folder of a command stays on its host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.domain.hosts.model import HostJob

KEEP_DAYS = 30  # after the end of its job
_DAY_S = 86_400.0
_RUN_ID = re.compile(r"[0-9a-f]{14,20}")


def may_be_removed(job: HostJob, now_s: float) -> bool:
    """Whether jobmon may remove what it made on the host: nobody watches the job, and it ended long ago.

    A job without a known end may still run there.
    """
    if not _RUN_ID.fullmatch(job.run_id) or job.is_removed or not job.is_dropped or job.end is None:
        return False
    ended_s = max(job.registered_s, job.end.end_s or 0)
    return now_s - ended_s > KEEP_DAYS * _DAY_S
