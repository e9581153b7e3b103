"""How the ended runs of a job come into the history, and budgets are told; loaded only after an end.

What needs more is imported within functions, which run in a child: a monitor must stay small.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.system.helper import HelperFailed, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.rows import JobRow
    from jobmon_core.polling.accounting import SharedAccounting

    Diagnoses = dict[str, Diagnosis]

_TIMEOUT_S = 60.0


def record_steps(
    ctx: Context, job: WatchedJob, files: EndFiles, accounting: SharedAccounting
) -> list[Step[Diagnoses]]:
    """Return the two steps of a helper, which take and return the last diagnoses of the job."""

    def write(found: Diagnoses) -> Diagnoses:
        write_records(ctx, with_diagnoses(job, found), files, accounting)
        return found

    def tell(found: Diagnoses) -> Diagnoses:
        names = (job.name, job.own_settings.run)
        if files.prices() and any(budget.is_of(*names) for budget in ctx.configuration().budgets):
            from jobmon_core.monitor.budgets import tell_budgets

            tell_budgets(ctx, names)
        return found

    return [Step(write, _TIMEOUT_S), Step(tell, _TIMEOUT_S)]


def is_recorded(results: Generator[Diagnoses], log: Callable[[str], None]) -> bool:
    """Wait for these steps, and log what failed; return whether the runs were added."""
    with closing(results):
        try:
            next(results)
        except HelperFailed as error:
            log(f"the run could not be added to the history: {error.reason}")
            return False
        try:
            next(results)
        except HelperFailed as error:
            log(f"the budgets could not be checked: {error.reason}")
    return True


def write_records(ctx: Context, job: WatchedJob, files: EndFiles, accounting: SharedAccounting) -> None:
    """Add a line for each ended task, and one for each of its earlier runs that accounting has shown.

    Raises:
        StorageFailed: nothing was added.
    """
    from jobmon_core.analysis.ending.history import records_of
    from jobmon_core.store.history.lines import append

    taken = ctx.run_record(job.id).taken()
    script = taken.script.digest if taken and taken.script else ""
    commit = taken.git.commit if taken and taken.git else ""
    records = [*records_of(job, job.tasks, files, script, commit)]
    if any(task.restarts for task in job.tasks.values()):
        answer = accounting.known(job.job_id, 0.0)
        records += _earlier_runs(job, answer if isinstance(answer, tuple) else (), files)
    append(files.history, records, os.uname().nodename, files.now())


def _earlier_runs(job: WatchedJob, rows: Iterable[JobRow], files: EndFiles) -> Iterator[HistoryRecord]:
    """Yield the runs before a requeue, which jobmon saw only in passing."""
    from jobmon_core.domain.job.history.record import record_of_row
    from jobmon_core.domain.job.tracking.apply_accounting import is_row_of

    for row in rows:
        task = job.tasks.get(row.ref.key)
        if task and is_row_of(job, row, float("inf")) and _is_earlier(row, task):
            record = record_of_row(row, files.now(), files.prices())
            if record:
                yield record._replace(state_id=job.id, cluster=job.cluster)


def _is_earlier(row: JobRow, task: Task) -> bool:
    return bool(row.submit_s and task.submit_s and row.submit_s < task.submit_s)
