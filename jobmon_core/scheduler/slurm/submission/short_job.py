"""Submit, follow and cancel a short job of jobmon's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.scheduler.base import ShortJobState
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id"
_WAITING = ("PENDING", "CONFIGURING", "REQUEUED")
_RUNNING = ("RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT")


def submit_short_job(runner: Runner, options: Sequence[str], script: str, log: str) -> Submitted:
    """Submit a script whose output goes to ``log``.

    Raises:
        SchedulerRejected: with sbatch's own words.
    """
    own = ["sbatch", "--parsable", f"--output={literal(log)}", "--no-requeue", *options, script]
    answer = runner.capture(own, _TIMEOUT_S)
    lines = answer.stdout.splitlines() if succeeded(answer) else []
    jobs = [job for line in lines if (job := sbatch_output.announced_job(line))]
    if not jobs:
        raise SchedulerRejected(answer.error_text)
    return jobs[0]


def short_job_state(runner: Runner, job: Submitted) -> ShortJobState | None:
    """Return the state of such a job; None if Slurm did not answer."""
    where = ["-M", job.cluster] if job.cluster else ["--local"]
    answer = runner.capture(
        ["squeue", *where, "-h", "-t", "all", "-j", str(job.ref), "-o", "%T|%r"], _TIMEOUT_S
    )
    if not succeeded(answer):
        return ShortJobState("", "", is_over=True) if _UNKNOWN_JOB in answer.error_text else None
    state, _, reason = (answer.stdout.splitlines() or ["|"])[0].partition("|")
    return ShortJobState(
        state, reason, is_waiting=state in _WAITING, is_over=state not in (*_WAITING, *_RUNNING)
    )


def cancel_short_job(runner: Runner, job: Submitted) -> None:
    """Cancel such a job; its own time limit ends it if that fails."""
    where = ["-M", job.cluster] if job.cluster else []
    runner.capture(["scancel", *where, str(job.ref)], _TIMEOUT_S)
