"""How a job ended, by the fields of its record.

Sources: ``src/include/job.h`` and ``req_jobobit.c`` of OpenPBS 23.06, and recorded ends. A code of 256 or
more is 256 + a signal; a shell's 128 + a signal stays an exit code, as in Slurm. Negative ones are PBS's own.
Before 22.05.11, PBS also ended a job with 271 (256 + SIGTERM) that had used up its time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import PBS_SAYS
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from jobmon_core.domain.slurm.rows import JobRow

_SIGNAL_BASE = 256
_DELETED = "91"  # substate: somebody ran qdel
_TIME_USED_UP = "exceeded resource walltime"
_DELETED_BY = " and terminated by "
_SIGTERM_ENDS = 271

_BY_SOMEBODY = "somebody deleted the job (qdel)"
_DEPENDENCY = "the job that it waited for did not end as its dependency requires, so it never ran"
_DAEMON_LOST = "its daemon on the node was restarted, and the job ended with it"
_LOST_NODE = "it lost the node, or stopped the job there to run it again"
_BY_CODE: dict[int, tuple[JobState, str]] = {
    **dict.fromkeys((-4, -5, -6), (JobState.NODE_FAIL, _DAEMON_LOST)),
    **dict.fromkeys((-11, -14, -20, -32), (JobState.NODE_FAIL, _LOST_NODE)),
    **dict.fromkeys((-16, -18), (JobState.LAUNCH_FAILED, "a hook of this site sent the job back")),
    -17: (JobState.LAUNCH_FAILED, "a hook of this site refused the job"),
    -19: (JobState.CANCELLED, "a hook of this site deleted the job"),
    -22: (JobState.LAUNCH_FAILED, "a hook of this site failed"),
    **dict.fromkeys((-24, -25), (JobState.FAILED, "the job used more CPUs than it had requested")),
    -26: (JobState.OUT_OF_MEMORY, "the job used more virtual memory than it had requested"),
    -27: (JobState.OUT_OF_MEMORY, "the job used more memory than it had requested"),
    -28: (JobState.TIMEOUT, "the job used more CPU time than it had requested"),
    -29: (JobState.TIMEOUT, "the job used up its walltime"),
    -31: (JobState.FAILED, "the job used more of a resource than it had requested"),
}


def ended(row: JobRow, status: int | None, substate: str) -> JobRow:
    """The row of a job that has ended, with a reason in place of PBS's comment, if the state says not all.

    ``status`` is Exit_status, None if the record has none: such a job never ran.
    """
    state, raw_state, reason = _how(row, status, substate)
    code, signal = status, None
    if status is not None and status >= _SIGNAL_BASE:
        code, signal = None, status - _SIGNAL_BASE
    elif status is not None and status < 0:
        code = None
    reason = reason and f"{PBS_SAYS}{reason}"
    return replace(row, state=state, raw_state=raw_state, exit_code=code, signal=signal, reason=reason)


def _how(row: JobRow, status: int | None, substate: str) -> tuple[JobState, str, str]:
    if status is None:
        waited_in_vain = row.dependency and substate != _DELETED
        return JobState.CANCELLED, "CANCELLED (never ran)", _DEPENDENCY if waited_in_vain else _BY_SOMEBODY
    if status < 0:
        state, reason = _BY_CODE.get(status, (JobState.LAUNCH_FAILED, "it could not start the job"))
        return state, f"{state} (Exit_status {status})", reason
    used_s, limit_s = row.usage.run_s, row.limit_s
    is_time_used = used_s is not None and limit_s is not None and used_s >= limit_s
    if row.reason.endswith(_TIME_USED_UP) or (status == _SIGTERM_ENDS and is_time_used):
        return JobState.TIMEOUT, f"TIMEOUT (Exit_status {status})", _BY_CODE[-29][1]
    if substate == _DELETED:
        by = row.reason.partition(_DELETED_BY)[2]
        said = f"{by} deleted the job (qdel)" if by else _BY_SOMEBODY
        return JobState.CANCELLED, f"CANCELLED by {by}".removesuffix(" by "), said
    if status == 0:
        return JobState.COMPLETED, JobState.COMPLETED, ""
    return JobState.FAILED, "FAILED" if status < _SIGNAL_BASE else f"FAILED (Exit_status {status})", ""
