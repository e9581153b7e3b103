"""The short job by which `jobmon check` looks at a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing, SchedulerRejected, SchedulerUnavailable
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import Submitted
    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 30.0


def submit_short_job(runner: Runner, name: str, options: Sequence[str], script: str, log: str) -> Submitted:
    """See `Backend`."""
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
