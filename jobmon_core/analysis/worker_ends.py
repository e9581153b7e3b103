"""Read what shows how the ended workers of a running task ended: their own logs, and what srun printed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import log_files, modified_s, own_files
from jobmon_core.domain.logs.progress.workers import has_done_its_share, how_far_each_came
from jobmon_core.domain.node.launch.checklist import step_errors
from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.progress.reader import read_progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.logs.progress.model import TaskProgress
    from jobmon_core.domain.node.telemetry.model import Worker
    from jobmon_core.store.telemetry import TaskTelemetry

_MAX_LOGS = 16
_MAX_BYTES, _TAIL_BYTES = 2**20, 2**16


def own_logs(job: WatchedJob, task: Task, ended: Iterable[Worker]) -> dict[str, bool]:
    """Return for the own log of each ended worker whether it shows that the worker had done its share.

    A log that cannot be read, that is the job's own or that was last written before the worker started is
    left out.
    """
    patterns = job.own_settings.progress_patterns
    main = log_files(job, task) if not job.worker_logs else ()
    own = own_files(job, task)
    paths = dict.fromkeys(
        worker.log
        for worker in ended
        if worker.log and worker.log not in main
        if replace(own, started_s=worker.started_s).include(modified_s(worker.log))
    )
    found = {}
    for path in list(paths)[:_MAX_LOGS]:
        reader = read_progress((path,), None, patterns, _MAX_BYTES, ended=True)
        if not reader.files[0].problem:
            lines = read_tail(path, _TAIL_BYTES).excerpt.texts
            found[path] = has_done_its_share(reader.progress, lines)
    return found


def errors_of_steps(job: WatchedJob, task: Task) -> dict[int, str]:
    """Return what srun says about failed ranks at the ends of the task's logs, in lines of this run."""
    found: dict[int, str] = {}
    for path in dict.fromkeys(log_files(job, task)):
        if path and path != os.devnull:
            excerpt = read_tail(path, _TAIL_BYTES).excerpt
            found |= step_errors(excerpt.appended_to(job.earlier_logs.get(path)).texts)
    return found


def with_workers(
    diagnosis: Diagnosis, end: End, followed: TaskProgress | None, telemetry: TaskTelemetry
) -> Diagnosis:
    """Return the diagnosis; unless the task succeeded, with how far each of its workers came."""
    if followed is None or end.outcome is Outcome.SUCCESS:
        return diagnosis
    ended = [worker for node in telemetry.nodes() for worker in telemetry.report(node).latest.workers]
    exits = {
        Path(worker.log).name: exit_phrase(worker.exit_code, worker.signal)
        for worker in ended
        if worker.log and (worker.exit_code is not None or worker.signal)
    }
    found = how_far_each_came(followed.workers, exits)
    return replace(diagnosis, work="; ".join(filter(None, (diagnosis.work, found))))
