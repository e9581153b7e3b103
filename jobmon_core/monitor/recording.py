"""How the ended runs of a job come into the history, and budgets are told; loaded only after an end."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.tasks import with_diagnoses
from jobmon_core.system.helper import HelperFailed, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.polling.accounting import SharedAccounting

    Diagnoses = dict[str, Diagnosis]

_TIMEOUT_S = 60.0


def record_steps(
    ctx: Context, job: WatchedJob, files: EndFiles, accounting: SharedAccounting
) -> list[Step[Diagnoses]]:
    """Return the two steps of a helper, which take and return the last diagnoses of the job."""

    def write(found: Diagnoses) -> Diagnoses:
        from jobmon_core.monitor.history import write_records  # only in a child

        write_records(ctx, with_diagnoses(job, found), files, accounting)
        return found

    def tell(found: Diagnoses) -> Diagnoses:
        names = (job.name, job.own_settings.run)
        if files.prices() and any(budget.is_of(*names) for budget in ctx.configuration().budgets):
            from jobmon_core.monitor.budgets import tell_budgets  # likewise

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
