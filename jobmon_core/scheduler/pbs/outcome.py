"""How a job ended, by the fields of its record.

Sources: ``src/include/job.h`` and ``req_jobobit.c`` of OpenPBS 23.06, and recorded ends. A code of 256 or
more is 256 + a signal; a shell's 128 + a signal stays an exit code, as in Slurm. Negative ones are PBS's own.
Before 22.05.11, PBS also ended a job with 271 (256 + SIGTERM) that had used up its time.
"""

from __future__ import annotations

from typing import NamedTuple

from jobmon_core.domain.backends import PBS_SAYS
from jobmon_core.domain.slurm.states import JobState

_SIGNAL_BASE = 256
_DELETED = "91"  # substate: somebody ran qdel
_TIME_USED_UP = "exceeded resource walltime"
_DELETED_BY = " and terminated by "
_SIGTERM_ENDS = 271

_BY_SOMEBODY = f"{PBS_SAYS}somebody deleted the job (qdel)"
_DEPENDENCY = "the job that it waited for did not end as its dependency requires, so it never ran"
_START_FAILED = "it could not start the job"
_DAEMON_LOST = "its daemon on the node was restarted, and the job ended with it"
_LOST_NODE = "it lost the node, or stopped the job there to run it again"
_OVER_CPUS = "the job used more CPUs than it had requested"
_BY_CODE: dict[int, tuple[JobState, str]] = {
    -4: (JobState.NODE_FAIL, _DAEMON_LOST),
    -5: (JobState.NODE_FAIL, _DAEMON_LOST),
    -6: (JobState.NODE_FAIL, _DAEMON_LOST),
    -11: (JobState.NODE_FAIL, _LOST_NODE),
    -14: (JobState.NODE_FAIL, _LOST_NODE),
    -16: (JobState.LAUNCH_FAILED, "a hook of this site sent the job back"),
    -17: (JobState.LAUNCH_FAILED, "a hook of this site refused the job"),
    -18: (JobState.LAUNCH_FAILED, "a hook of this site sent the job back"),
    -19: (JobState.CANCELLED, "a hook of this site deleted the job"),
    -20: (JobState.NODE_FAIL, _LOST_NODE),
    -22: (JobState.LAUNCH_FAILED, "a hook of this site failed"),
    -24: (JobState.FAILED, _OVER_CPUS),
    -25: (JobState.FAILED, _OVER_CPUS),
    -26: (JobState.OUT_OF_MEMORY, "the job used more virtual memory than it had requested"),
    -27: (JobState.OUT_OF_MEMORY, "the job used more memory than it had requested"),
    -28: (JobState.TIMEOUT, "the job used more CPU time than it had requested"),
    -29: (JobState.TIMEOUT, "the job used up its walltime"),
    -31: (JobState.FAILED, "the job used more of a resource than it had requested"),
    -32: (JobState.NODE_FAIL, _LOST_NODE),
}


class Ended(NamedTuple):
    """An end; ``reason`` is empty if the state says all."""

    state: JobState
    raw_state: str
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""


def how_it_ended(
    status: int | None, substate: str, comment: str, *, has_dependency: bool, is_time_used: bool
) -> Ended:
    """``status`` is Exit_status, None if the record has none; ``is_time_used``: all of the walltime."""
    if status is None:
        return _without_status(substate, has_dependency=has_dependency)
    code, signal = (status, None) if status < _SIGNAL_BASE else (None, status - _SIGNAL_BASE)
    if status < 0:
        state, reason = _BY_CODE.get(status, (JobState.LAUNCH_FAILED, _START_FAILED))
        return Ended(state, f"{state} (Exit_status {status})", reason=f"{PBS_SAYS}{reason}")
    if comment.endswith(_TIME_USED_UP) or (status == _SIGTERM_ENDS and is_time_used):
        why = f"{PBS_SAYS}{_BY_CODE[-29][1]}"
        return Ended(JobState.TIMEOUT, f"TIMEOUT (Exit_status {status})", code, signal, why)
    if substate == _DELETED:
        by = comment.rpartition(_DELETED_BY)[2] if _DELETED_BY in comment else ""
        why = f"{PBS_SAYS}{by} deleted the job (qdel)" if by else _BY_SOMEBODY
        return Ended(JobState.CANCELLED, f"CANCELLED by {by}" if by else "CANCELLED", code, signal, why)
    if status == 0:
        return Ended(JobState.COMPLETED, JobState.COMPLETED, 0)
    raw_state = JobState.FAILED if signal is None else f"{JobState.FAILED} (Exit_status {status})"
    return Ended(JobState.FAILED, raw_state, code, signal)


def _without_status(substate: str, *, has_dependency: bool) -> Ended:
    """PBS gives no status to a job that never ran."""
    state = JobState.CANCELLED
    if has_dependency and substate != _DELETED:
        return Ended(state, f"{state} (never ran)", reason=f"{PBS_SAYS}{_DEPENDENCY}")
    return Ended(state, f"{state} (never ran)", reason=_BY_SOMEBODY)
