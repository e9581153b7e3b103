"""How a task ended, in a few words for its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.analysis.explainer import canceller_name
from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from jobmon_core.domain.tracking.model import End


def state_text(end: End) -> str:
    """Return the final state, with the user who cancelled, e.g. ``CANCELLED by you``."""
    if end.cancelled_by is not None:
        return f"{end.state} by {canceller_name(end.cancelled_by)}"
    return end.raw_state or end.state


def end_text(end: End) -> str:
    """Return the final state and what else ended the task, e.g. ``FAILED, exit code 1``."""
    # the exit code 0 of a job that timed out would confuse, as would the signal that cancelled a job
    is_telling = (
        end.exit_code
        or (end.signal and end.state is JobState.FAILED)
        or (end.exit_code == 0 and end.state is JobState.COMPLETED)
    )
    return f"{state_text(end)}, {exit_phrase(end.exit_code, end.signal)}" if is_telling else state_text(end)
