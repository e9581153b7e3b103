"""Match the lines of the logs of a job against all patterns that apply to it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.logs.diagnosis.patterns import GENERIC, Match, Pattern, Role
from jobmon_core.observe.patterns.load import PatternFile, load_patterns, read_patterns
from jobmon_core.observe.patterns.match import Matcher

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines


class JobMatcher:
    """Matches the shipped patterns, those of the user and those of one job."""

    def __init__(self, user_patterns: Path | None, job_patterns: Sequence[Pattern] = ()) -> None:
        """Load the patterns; those of the file ``user_patterns`` that have faults are skipped."""
        # `faults` says why patterns are missing; empty if none are
        self._matcher, self.faults = _load_matcher(user_patterns)
        self._job_matcher = Matcher(job_patterns) if job_patterns else None

    def matches(self, lines: LogLines) -> Sequence[Match]:
        """Return the matches; of those of one line, the first counts."""
        matches = self._matcher.find_matches(lines)
        if self._job_matcher is None:
            return matches
        # a pattern of the job says less than one of a known failure, and more than any other
        known = [m for m in matches if m.pattern.role is Role.ROOT and m.pattern.label != GENERIC]
        return *known, *self._job_matcher.find_matches(lines), *matches


@lru_cache(maxsize=1)
def _load_matcher(user_patterns: Path | None) -> tuple[Matcher, str]:
    """Return a matcher, loaded once per process, and why patterns are missing from it."""
    own = read_patterns(user_patterns) if user_patterns else PatternFile("")
    try:
        return Matcher(load_patterns(own.patterns)), own.note
    except PatternsInvalid as error:
        return Matcher(()), f"no patterns could be used: {error}"
