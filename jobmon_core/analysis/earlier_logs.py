"""Note what the logs of a job hold before it starts, so that its diagnosis leaves earlier runs out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import log_files, named_logs
from jobmon_core.domain.logs.diagnosis.model import EarlierLog
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.job.tracking.model import WatchedJob

_TIMEOUT_S = 10.0  # short: without the result, the diagnosis still recognises the lines of most earlier runs


def earlier_logs_of(job: WatchedJob, helper: Helper, log: Callable[[str], None]) -> dict[str, EarlierLog]:
    """Return, by path, what the logs of a job contain before it starts; log a failure."""

    def read_all() -> dict[str, EarlierLog]:
        from jobmon_core.observe.logs.read import read_tail  # not at the top: the monitor must stay small

        logs = (
            path for task in job.tasks.values() for path in (*log_files(job, task), *named_logs(job, task))
        )
        paths = dict.fromkeys(filter(None, logs))
        found = {path: read_tail(path).excerpt.as_earlier_log() for path in paths}
        return {path: earlier for path, earlier in found.items() if earlier}

    try:
        return helper.run(dict[str, EarlierLog], read_all, _TIMEOUT_S)
    except HelperFailed as error:
        log(f"the logs could not be read before the start: {error}")
        return {}
