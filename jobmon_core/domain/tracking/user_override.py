"""What the user says of an end, as Slurm would write it. It stands above what anybody else says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import End, Source

_UID = re.compile(r"\bby ([0-9]{1,10})")
_EXIT = re.compile(r"([0-9]{1,3})(?::([0-9]{1,3}))?")
_HIGHEST = 255

NOTHING_KNOWN = End(JobState.UNKNOWN, "", Outcome.UNKNOWN, Source.NOBODY)


@dataclass(frozen=True, slots=True)
class UserOverride:
    """A state, an exit, both or neither."""

    state: JobState | None = None
    cancelled_by: int | None = None  # uid
    exit_code: int | None = None
    signal: int | None = None

    @classmethod
    def parse(cls, state: str | None, exit_code: str | None) -> UserOverride:
        """Read ``CANCELLED by 1000`` and ``1:0``, as sacct prints them; None where the user says nothing.

        Raises:
            ValueError: this is no state, or no exit code, of Slurm.
        """
        said = cls() if state is None else _state(state)
        if exit_code is None:
            return said
        match = _EXIT.fullmatch(exit_code.strip())
        numbers = [int(number or 0) for number in match.groups()] if match else []
        if not numbers or max(numbers) > _HIGHEST:
            raise ValueError(f"{exit_code!r} is no exit code; expected N or N:SIGNAL, as sacct prints: 1:0")
        return replace(said, exit_code=numbers[0], signal=numbers[1])

    def apply_to(self, end: End) -> End:
        """Return an end as it is when the user is right."""
        if self.state is not None:
            same = self.state is end.state
            by = self.cancelled_by if self.cancelled_by is not None or not same else end.cancelled_by
            end = replace(end, state=self.state, raw_state=self.state, cancelled_by=by)
        if self.exit_code is None:
            return end
        end = replace(
            end,
            exit_code=self.exit_code,
            exit_code_exact=True,
            signal=self.signal,
            derived_exit_code=None,
        )
        # the reverse does not hold: what reached its time limit has an exit code of 0 too
        failed = end.state is JobState.UNKNOWN and (end.exit_code or end.signal)
        return replace(end, state=JobState.FAILED, raw_state=JobState.FAILED) if failed else end


def _state(words: str) -> UserOverride:
    state = JobState.from_slurm(words)
    if state is JobState.UNKNOWN and words.strip().upper() != JobState.UNKNOWN:
        ends = ", ".join(each for each in JobState if not each.is_alive)
        raise ValueError(f"{words!r} is no state of Slurm; ends are {ends}")
    by = _UID.search(words)
    return UserOverride(state, int(by[1]) if by else None)
