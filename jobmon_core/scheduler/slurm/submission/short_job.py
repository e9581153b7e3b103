"""The short job of `jobmon check --on-node`, which looks at a node: submit it, follow it, cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.base import ShortJobState
from jobmon_core.scheduler.slurm import commands, sbatch_output
from jobmon_core.scheduler.slurm.control.job_control import SlurmJobControl
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id"
_STARTING = (JobState.CONFIGURING, JobState.POWER_UP_NODE)  # its nodes boot, which may take long
_OVER = (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)  # it is submitted with --no-requeue


def submit_short_job(runner: Runner, name: str, options: Sequence[str], script: str, log: str) -> Submitted:
    """Submit a script whose output goes to ``log``, under a name that no other job has.

    If sbatch ends without an answer, the job may exist all the same: it is cancelled by its name.

    Raises:
        SchedulerMissing: there is no sbatch.
        SchedulerRejected: sbatch refused the job; the text is sbatch's own.
        SchedulerUnavailable: there was no answer; the text says what became of the job.
    """
    clusters = [option for option in options if option.startswith("--clusters=")]
    cancel = ["scancel", *clusters, f"--name={name}"]
    own = ["--parsable", f"--job-name={name}", f"--output={literal(log)}", "--no-requeue"]
    try:
        answer = runner.capture(["sbatch", *own, *options, script], _TIMEOUT_S)
    except BaseException:  # Ctrl-C while sbatch waits for an answer
        runner.capture(cancel, _TIMEOUT_S)
        raise
    if isinstance(answer, NotStarted):
        raise SchedulerMissing(answer.error_text)
    lines = answer.stdout.splitlines() if succeeded(answer) else []
    if jobs := [job for line in lines if (job := sbatch_output.announced_job(line))]:
        return jobs[0]
    if isinstance(answer, Ran) and answer.exit_code > 0 and not _may_exist(answer):
        raise SchedulerRejected(answer.error_text)
    why = "sbatch: printed no job id" if succeeded(answer) else answer.error_text
    if succeeded(runner.capture(cancel, _TIMEOUT_S)):
        raise SchedulerUnavailable(f"{why}; the job {name} was cancelled, if it exists")
    raise SchedulerUnavailable(f"{why}; if the job exists, `{' '.join(cancel)}` cancels it")


def _may_exist(failure: Ran) -> bool:
    return sbatch_output.may_have_been_accepted(failure.exit_code, failure.stderr)


def short_job_state(runner: Runner, job: Submitted) -> ShortJobState | None:
    """Return the state of a short job; None if Slurm did not answer."""
    cluster = commands.cluster_args(job.cluster)
    answer = runner.capture(
        ["squeue", *cluster, "-h", "-t", "all", "-j", str(job.ref), "-o", "%T|%r"], _TIMEOUT_S
    )
    if not succeeded(answer):
        return ShortJobState("", "", is_over=True) if _UNKNOWN_JOB in answer.error_text else None
    if not answer.stdout.strip():  # it ended so long ago that Slurm does not list it any more
        return ShortJobState("", "", is_over=True)
    name, _, reason = answer.stdout.splitlines()[0].partition("|")
    state = JobState.from_slurm(name)
    is_waiting = state.phase is Phase.WAITING or state in _STARTING
    return ShortJobState(name, reason, is_waiting=is_waiting, is_over=state.phase in _OVER)


def cancel_short_job(runner: Runner, job: Submitted) -> str:
    """Cancel a short job, unless it has ended; return Slurm's error text, empty without one."""
    return SlurmJobControl(runner, job.cluster).cancel([job.ref])
