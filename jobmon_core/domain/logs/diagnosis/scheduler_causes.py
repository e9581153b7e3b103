"""The causes that the scheduler itself names: it ended the job, or never started it."""

from __future__ import annotations

from jobmon_core.domain.backends import PBS_SAYS
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED, TIME_LIMIT, Cause, stated_cause
from jobmon_core.domain.logs.diagnosis.model import KILLED_FOR_MEMORY, SlurmEvidence
from jobmon_core.domain.slurm.states import JobState

# the id, the title and the advice
_BY_STATE: dict[JobState, tuple[str, str, str]] = {
    JobState.TIMEOUT: (
        TIME_LIMIT,
        "Time limit reached",
        "Ask for more time (`-l walltime=`), or save checkpoints and continue from the last one.",
    ),
    JobState.OUT_OF_MEMORY: (
        KILLED_FOR_MEMORY,
        "Out of memory (RAM)",
        "Ask for more memory (`mem=` in `-l select=`), or use less: fewer DataLoader workers, small batches.",
    ),
    JobState.NODE_FAIL: (
        "node_fail",
        "The node failed",
        "Submit the job again; the program is not at fault.",
    ),
    JobState.LAUNCH_FAILED: (
        "node_fail.not_started",
        "PBS could not start the job",
        "Submit it again. If that happens again, ask your administrators, with the id of the job.",
    ),
    JobState.CANCELLED: (CANCELLED, "Cancelled", ""),
    JobState.FAILED: ("pbs_limit", "Ended by PBS: over a limit", "Ask for more of it, or use less."),
}


def scheduler_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return the cause that the reason of PBS names, else what the state or the signal of Slurm does."""
    if not evidence.reason.startswith(PBS_SAYS) or evidence.state not in _BY_STATE:
        return stated_cause(evidence)
    cause_id, title, advice = _BY_STATE[evidence.state]
    return Cause(cause_id, title, f"PBS reports: {evidence.reason.removeprefix(PBS_SAYS)}.", advice)
