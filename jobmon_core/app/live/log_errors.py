"""The latest error lines in the logs of a running task, whose program may have survived the errors."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.explain import JobMatcher, job_patterns
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.headline import without_prefix
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.patterns import Pattern, Role
from jobmon_core.observe.logs.follow import LogFollower
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.observe.patterns.re2_regex import compile_regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.job.tracking.model import WatchedJob

MOST = 5
_MAX_BYTES = 64 * 1024  # of each log, from its end
_CLOCK = re.compile(r"(?<![\d<])\d\d:\d\d:\d\d(?![\d<:])")  # not the elapsed time of a progress bar
_MAX_BEFORE_CLOCK = 40  # characters


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line that a pattern of a failure matches."""

    path: str  # of the log
    is_warning: bool
    text: str  # without what precedes the message
    clock: str = ""  # the time of day that the line carries, e.g. 03:12:45


class LogErrors:
    """Those of one task; a log is read again only after it has changed."""

    def __init__(self, job: WatchedJob, user_patterns: Path | None) -> None:
        """Take the shipped patterns, those of the user and those of the job."""
        self._matcher = JobMatcher(user_patterns, job_patterns(job.settings))
        self._earlier = job.earlier_logs
        self._logs = ChangedFiles(self._read)

    def latest(self, paths: Sequence[str]) -> tuple[ErrorLine, ...]:
        """Oldest first; of several logs, by time of day."""
        found = [line for lines in self._logs.contents([Path(path) for path in paths]) for line in lines]
        if len(paths) > 1:
            found.sort(key=lambda line: line.clock)
        return tuple(found[-MOST:])

    def _read(self, path: Path) -> tuple[ErrorLine, ...]:
        excerpt = read_tail(str(path), _MAX_BYTES)
        lines = LogLines([excerpt.appended_to(self._earlier.get(str(path)))])
        found = LogAnalysis(self._matcher.matches(lines), lines).matches
        roots = [match for match in found if match.pattern.role is Role.ROOT]
        return tuple(
            _error_line(str(path), match.pattern, lines.unprefixed[match.position]) for match in roots[-MOST:]
        )


def _error_line(path: str, pattern: Pattern, text: str) -> ErrorLine:
    clock = _CLOCK.search(text[:_MAX_BEFORE_CLOCK])
    return ErrorLine(path, pattern.is_warning, without_prefix(text.strip()), clock[0] if clock else "")


_CONTEXT_LINES = 3  # before and after
_WARNING = re.compile(r"\bWARN(?:ING)?\b", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?<![\d<])\d\d:\d\d:\d\d(?![\d<:])")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogError:
    """A line that shows an error or a warning."""

    worker: str
    level: str  # ERROR or WARNING
    message: str
    pattern: str  # the name of the pattern that matches
    timestamp: str  # as the line shows it
    full_context: str  # the lines around it


def own_patterns(regexes: Mapping[str, str]) -> tuple[Pattern, ...]:
    """Return a caller's regexes (RE2 syntax), given by name, as patterns; Invalid names those with faults."""
    faults = []
    for name, regex in regexes.items():
        try:
            compile_regex(regex)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise Invalid("error_patterns", faults)
    return tuple(Pattern(name, name, Role.ROOT, (regex,), "", "", 0) for name, regex in regexes.items())


@dataclass(slots=True)
class AppendedErrors:
    """Finds error lines: by the caller's patterns, else by those that jobmon ships and the user's own."""

    patterns: tuple[Pattern, ...]  # the caller's; empty for the shipped ones
    user_file: Path | None
    _followers: dict[str, LogFollower] = field(default_factory=dict, init=False)

    def look(self, logs: Mapping[str, str]) -> tuple[LogError, ...]:
        """Return the error lines appended to the logs of these workers since the last call, at first all."""
        found = list[LogError]()
        for worker, path in logs.items():
            follower = self._followers.setdefault(path, LogFollower(path))
            lines = tuple(line for new in follower.rest() for line in new.lines)
            found += self._errors(worker, path, lines)
        return tuple(found)

    def _errors(self, worker: str, path: str, texts: tuple[str, ...]) -> list[LogError]:
        lines = LogLines([LogExcerpt(path, texts, None)])
        if self.patterns:
            matches = Matcher(self.patterns).find_matches(lines)
        else:
            every = JobMatcher(self.user_file).matches(lines)
            matches = tuple(match for match in every if match.pattern.role is Role.ROOT)
        return [_error(worker, match.pattern, texts, match.position) for match in matches]


def _error(worker: str, pattern: Pattern, texts: tuple[str, ...], position: int) -> LogError:
    text = texts[position]
    around = texts[max(0, position - _CONTEXT_LINES) : position + _CONTEXT_LINES + 1]
    is_warning = pattern.is_warning or bool(_WARNING.search(text))
    time = _TIME.search(text)
    return LogError(
        worker=worker,
        level="WARNING" if is_warning else "ERROR",
        message=text.strip(),
        pattern=pattern.id,
        timestamp=time[0] if time else "",
        full_context="\n".join(around),
    )
