"""What an ended job owes to its cloud, which had announced the end of its node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.job.tracking.model import End
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.domain.slurm.states import JobState, Outcome, effective_signal

_SIGNALS = (9, 15)  # SIGKILL and SIGTERM: a shutdown sends both
_CAUSE = "slurm_preempted.cloud"
_CLOCK_SKEW_S = 60.0  # between the node and the host that dates ends
_WITHIN_S = 3600.0  # of the notice; Slurm gives a silent node up after SlurmdTimeout, mostly five minutes


def with_announced_end(diagnosis: Diagnosis, end: End, notices: Iterable[Notice | None]) -> Diagnosis:
    """Return the diagnosis of an ended task; its cause is the notice, if it failed as the machine went away.

    So it must have lost its node, or been ended by a signal of which nothing else is known.
    """
    was_ended = end.state is JobState.FAILED and not diagnosis.is_proved
    was_ended &= effective_signal(end.exit_code, end.signal) in _SIGNALS
    if end.outcome is not Outcome.FAILURE or not (was_ended or end.state is JobState.NODE_FAIL):
        return diagnosis
    notice = next((each for each in notices if each and _fits(each, end)), None)
    if notice is None:
        return diagnosis
    return replace(
        diagnosis,
        cause=_CAUSE,
        label="slurm_preempted",
        title=f"Preempted: {notice.cloud} took its node away",
        what_failed="",
        explanation=f"The cloud had announced it ({notice.word}). The program is not at fault.",
        advice="Submit the job again, and save checkpoints often.",
        fingerprint=fingerprint(_CAUSE, ""),
        is_proved=True,
    )


def _fits(notice: Notice, end: End) -> bool:
    is_of_run = notice.seen_s > (end.started_s or 0.0)
    return is_of_run and -_CLOCK_SKEW_S <= (end.ended_s or 0.0) - notice.seen_s <= _WITHIN_S
