"""The latest error lines in the logs of a running task, whose program may have survived the errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.matching import JobMatcher
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.domain.job.error_patterns import job_patterns
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.headline import without_prefix
from jobmon_core.domain.logs.diagnosis.log_lines import LogLines
from jobmon_core.domain.logs.diagnosis.patterns import Role, Severity
from jobmon_core.observe.logs.read import read_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.tracking.model import WatchedJob

MOST = 5
_MAX_BYTES = 64 * 1024  # of each log, from its end
_CLOCK = re.compile(r"(?<![\d<])\d\d:\d\d:\d\d(?![\d<:])")  # not the elapsed time of a progress bar
_MAX_BEFORE_CLOCK = 40  # characters


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """One line of a log that a pattern of a failure matches."""

    path: str  # of the log
    severity: Severity
    text: str  # without what precedes the message
    clock: str = ""  # the time of day that the line carries, e.g. 03:12:45


class LogErrors:
    """The error lines in the logs of one task; a log is read again only after it has changed."""

    def __init__(self, job: WatchedJob, user_patterns: Path | None) -> None:
        """Find what the shipped patterns, those of the user and those of the job match."""
        self._matcher = JobMatcher(user_patterns, job_patterns(job.settings))
        self._earlier = job.earlier_logs
        self._logs = ChangedFiles(self._read)

    def latest(self, paths: Sequence[str]) -> tuple[ErrorLine, ...]:
        """Return the latest error lines of these logs, oldest first; of several logs, by time of day."""
        found = [line for lines in self._logs.contents([Path(path) for path in paths]) for line in lines]
        if len(paths) > 1:
            found.sort(key=lambda line: line.clock)
        return tuple(found[-MOST:])

    def _read(self, path: Path) -> tuple[ErrorLine, ...]:
        excerpt = read_tail(str(path), _MAX_BYTES).excerpt
        lines = LogLines([excerpt.appended_to(self._earlier.get(str(path)))])
        found = LogAnalysis(self._matcher.matches(lines), lines).matches
        roots = [match for match in found if match.pattern.role is Role.ROOT]
        return tuple(
            _error_line(str(path), match.pattern.severity, lines.unprefixed[match.position])
            for match in roots[-MOST:]
        )


def _error_line(path: str, severity: Severity, text: str) -> ErrorLine:
    clock = _CLOCK.search(text[:_MAX_BEFORE_CLOCK])
    return ErrorLine(path, severity, without_prefix(text.strip()), clock[0] if clock else "")
