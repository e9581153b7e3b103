"""The short job by which `jobmon check` looks at a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.base import ShortJobState
from jobmon_core.scheduler.slurm import commands, sbatch_output
from jobmon_core.scheduler.slurm.job_control import SlurmJobControl
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0
_UNKNOWN_JOB = "Invalid job id"
_STARTING = (JobState.CONFIGURING, JobState.POWER_UP_NODE)  # its nodes boot, which may take long
_OVER = (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)


def submit_short_job(runner: Runner, name: str, options: Sequence[str], script: str, log: str) -> Submitted:
    """Submit a script whose output goes to ``log``, under a name that no other job has."""
    clusters = [option for option in options if option.startswith("--clusters=")]
    cancel = ["scancel", *clusters, f"--name={name}"]
    own = ["--parsable", f"--job-name={name}", f"--output={literal(log)}", "--no-requeue"]
    try:
        answer = runner.capture(["sbatch", *own, *options, script], _TIMEOUT_S)
    except BaseException:
        runner.capture(cancel, _TIMEOUT_S)
        raise
    if isinstance(answer, NotStarted):
        raise SchedulerMissing(answer.error_text)
    lines = answer.stdout.splitlines() if succeeded(answer) else []
    if jobs := sbatch_output.announced_jobs(lines):
        return jobs[-1]
    if (
        isinstance(answer, Ran)
        and answer.exit_code > 0
        and not sbatch_output.may_have_been_accepted(answer.exit_code, answer.stderr)
    ):
        raise SchedulerRejected(answer.error_text)
    why = "sbatch: printed no job id" if succeeded(answer) else answer.error_text
    if succeeded(runner.capture(cancel, _TIMEOUT_S)):
        raise SchedulerUnavailable(f"{why}; the job {name} was cancelled, if it exists")
    raise SchedulerUnavailable(f"{why}; if the job exists, `{' '.join(cancel)}` cancels it")


def short_job_state(runner: Runner, job: Submitted) -> ShortJobState | None:
    """Return the state of a short job; None if Slurm did not answer."""
    cluster = commands.cluster_args(job.cluster)
    answer = runner.capture(
        ["squeue", *cluster, "-h", "-t", "all", "-j", str(job.ref), "-o", "%T|%r"], _TIMEOUT_S
    )
    if not succeeded(answer):
        if _UNKNOWN_JOB in answer.error_text:
            return ShortJobState("", "", is_over=True)
        return None
    if not answer.stdout.strip():
        return ShortJobState("", "", is_over=True)
    name, _, reason = answer.stdout.splitlines()[0].partition("|")
    state = JobState.from_slurm(name)
    is_waiting = state.phase is Phase.WAITING or state in _STARTING
    return ShortJobState(name, reason, is_waiting=is_waiting, is_over=state.phase in _OVER)


def cancel_short_job(runner: Runner, job: Submitted) -> str:
    """Cancel a short job, unless it has ended; return Slurm's error text, empty without one."""
    return SlurmJobControl(runner, job.cluster).cancel([job.ref])
