"""The monitor's side of an offer: what a submission offers, this process takes up, if nobody has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.store.job_lock import acquire_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.lifecycle.process_state import ProcessState

MAX_JOBS = 500  # that one monitor follows: each takes a descriptor, and many hosts allow 1,024


def adopt_job(
    process_state: ProcessState, job_id: str, watch: Callable[[str], None], log: Callable[[str], None]
) -> None:
    """Take up one job that is offered, unless somebody has it.

    The lock is taken and the owner named first, and the offer is struck last, by the owner alone: who waits
    for that finds him named and alive. Killed in between, this process leaves a free lock, and the offer or
    a dead owner.

    Args:
        process_state: what this process has.
        job_id: the job.
        watch: begins to follow it; raises JobmonError where it can't be followed.
        log: tells what went wrong.
    """
    if len(process_state.locks) >= MAX_JOBS:
        return
    try:
        if job_id not in process_state.locks:
            lock = acquire_job(process_state.home.monitors / f"{job_id}.lock")
            if lock is None:
                return
            process_state.locks[job_id] = lock
            watch(job_id)
            process_state.write_slot()
    except JobmonError as error:
        log(f"an offered job is not taken up: {error}")
        process_state.release(job_id)
    process_state.handoffs.remove(job_id)
