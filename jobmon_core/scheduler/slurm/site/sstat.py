"""What Slurm itself samples of running jobs: memory and CPU time, by sstat.

sstat runs only for a user who looks at jobs that no agent can watch, once for all of them. A monitor never
runs it: a query goes to slurmd on every node of every job, and its figures are too few for a live verdict
(`domain/node/triage`): a job's GPUs, processes and limits are missing, and by default Slurm samples every
30 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.model import StepUsage
from jobmon_core.scheduler.slurm import values
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 5.0
_FIELDS = "JobID,TRESUsageInTot"
_EXTERN_STEP = "extern"


def ask_step_usage(runner: Runner, raw_job_ids: Sequence[int]) -> dict[int, StepUsage]:
    """Return what the steps of running jobs of the default cluster use, by raw job id; one query for all."""
    listed = ",".join(map(str, raw_job_ids))
    answer = runner.capture(["sstat", "-a", "-n", "-P", "-j", listed, "-o", _FIELDS], _TIMEOUT_S)
    # the exit code is 0 even if the controller is down; an unknown job does not affect the others
    if isinstance(answer, Ran):
        return read_step_usage(answer.stdout)
    return {}


def read_step_usage(text: str) -> dict[int, StepUsage]:
    """Parse the output of sstat, and add up the steps of each job."""
    found: dict[int, StepUsage] = {}
    for line in text.splitlines():
        step_id, _, usage = line.partition("|")
        job_id, _, step = step_id.partition(".")
        raw_id = values.number(job_id)
        if raw_id is None or step == _EXTERN_STEP:
            continue
        amounts = values.tres(usage)
        step_usage = StepUsage(
            values.size_bytes(amounts.get("mem", "")), values.duration_s(amounts.get("cpu", ""))
        )
        found[raw_id] = found.get(raw_id, StepUsage()).plus(step_usage)
    return found
