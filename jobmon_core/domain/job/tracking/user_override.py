"""The final state and exit code from the command line, which replace those that Slurm reports."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.slurm.states import JobState, Outcome

_UID = re.compile(r"\bby ([0-9]{1,10})")
_EXIT = re.compile(r"([0-9]{1,3})(?::([0-9]{1,3}))?")
_MAX_EXIT = 255

NOTHING_KNOWN = End(JobState.UNKNOWN, "", Outcome.UNKNOWN, Source.NONE)


@dataclass(frozen=True, slots=True)
class UserOverride:
    """The user's final state and exit code; what is None stays as Slurm reports it.

    The canceller has no effect without a state, nor the signal without an exit code.
    """

    state: JobState | None = None
    cancelled_by: int | None = None  # uid
    exit_code: int | None = None
    signal: int | None = None  # 0 for none

    @classmethod
    def parse(cls, state: str | None, exit_code: str | None) -> UserOverride:
        """Read a state such as ``CANCELLED by 1000`` and an exit code such as ``1:0``, as sacct prints them.

        The state may be ``UNKNOWN``; ValueError if it is no final state, or the exit code cannot be read.
        """
        override = cls() if state is None else _parse_state(state)
        if exit_code is None:
            return override
        match = _EXIT.fullmatch(exit_code.strip())
        numbers = [int(number or 0) for number in match.groups()] if match else []
        if not numbers or max(numbers) > _MAX_EXIT:
            raise ValueError(
                f"{exit_code!r} is not an exit code; expected N or N:SIGNAL as printed by sacct, e.g. 1:0"
            )
        return replace(override, exit_code=numbers[0], signal=numbers[1])

    def apply_to(self, end: End) -> End:
        """Return ``end`` with the user's state and exit code in place of its own.

        An exit code counts as exact and replaces the derived one; a nonzero one turns the state ``UNKNOWN``
        into ``FAILED``. A state replaces the canceller, unless ``end`` has the same state and the user names
        none. All other fields stay as they were, `End.outcome` and `End.source` included.
        """
        if self.state is not None:
            keep_uid = self.cancelled_by is None and self.state is end.state
            uid = end.cancelled_by if keep_uid else self.cancelled_by
            end = replace(end, state=self.state, raw_state=self.state, cancelled_by=uid)
        if self.exit_code is None:
            return end
        end = replace(
            end,
            exit_code=self.exit_code,
            exit_code_exact=True,
            signal=self.signal,
            derived_exit_code=None,
        )
        # an exit code of 0 proves no success: a job that reached its time limit has it too
        failed = end.state is JobState.UNKNOWN and (end.exit_code or end.signal)
        return replace(end, state=JobState.FAILED, raw_state=JobState.FAILED) if failed else end


def _parse_state(text: str) -> UserOverride:
    state = JobState.from_slurm(text)
    if state.is_alive and text.strip().upper() != JobState.UNKNOWN:
        kind = "Slurm job state" if state is JobState.UNKNOWN else "final state"
        final_states = ", ".join(state for state in JobState if not state.is_alive)
        raise ValueError(f"{text!r} is not a {kind}; final states are {final_states}")
    uid = _UID.search(text)
    return UserOverride(state, int(uid[1]) if uid else None)
