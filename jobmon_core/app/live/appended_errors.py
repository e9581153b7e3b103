"""The error lines that were appended to logs since the last look, each with the lines around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.analysis.matching import JobMatcher
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.patterns import Pattern, Role, Severity
from jobmon_core.observe.logs.follow import LogFollower
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.observe.patterns.re2_regex import compile_regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_CONTEXT_LINES = 3  # before and after
_WARNING = re.compile(r"\bWARN(?:ING)?\b", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|(?<![\d<])\d\d:\d\d:\d\d(?![\d<:])")


@dataclass(frozen=True, slots=True)
class AppendedError:
    """A line of a log that a pattern matches."""

    path: str
    pattern: str  # its id; of the caller's own patterns, its name
    text: str
    is_warning: bool
    context: str  # this line and those around it that were appended with it
    time: str = ""  # as the line shows it


def own_patterns(regexes: Mapping[str, str]) -> tuple[Pattern, ...]:
    """Return patterns of a caller, given as regexes (RE2 syntax) by name.

    Raises:
        PatternsInvalid: names each regex that is not valid.
    """
    faults = []
    for name, regex in regexes.items():
        try:
            compile_regex(regex)
        except ValueError as error:
            faults.append(f"{name}: {error}")
    if faults:
        raise PatternsInvalid("error_patterns", faults)
    return tuple(
        Pattern(name, name, Severity.ERROR, Role.ROOT, (regex,), "", "", 0, (), ())
        for name, regex in regexes.items()
    )


@dataclass(slots=True)
class AppendedErrors:
    """Finds error lines: by the caller's patterns, else by those that jobmon ships and the user's own."""

    patterns: tuple[Pattern, ...]  # the caller's; empty for the shipped ones
    user_file: Path | None
    _followers: dict[str, LogFollower] = field(default_factory=dict, init=False)

    def look(self, paths: Sequence[str]) -> list[AppendedError]:
        """Return the error lines appended to these logs since the last call; the first returns all."""
        found = []
        for path in paths:
            follower = self._followers.setdefault(path, LogFollower(path))
            lines = tuple(line for new in follower.rest() for line in new.lines)
            found += self._errors(path, lines)
        return found

    def _errors(self, path: str, texts: tuple[str, ...]) -> list[AppendedError]:
        lines = LogLines([LogExcerpt(path, texts, None)])
        if self.patterns:
            matches = Matcher(self.patterns).find_matches(lines)
        else:
            every = JobMatcher(self.user_file).matches(lines)
            matches = tuple(match for match in every if match.pattern.role is Role.ROOT)
        return [_error(path, match.pattern, texts, match.position) for match in matches]


def _error(path: str, pattern: Pattern, texts: tuple[str, ...], position: int) -> AppendedError:
    text = texts[position]
    around = texts[max(0, position - _CONTEXT_LINES) : position + _CONTEXT_LINES + 1]
    is_warning = pattern.severity is Severity.WARNING or bool(_WARNING.search(text))
    time = _TIME.search(text)
    return AppendedError(path, pattern.id, text, is_warning, "\n".join(around), time[0] if time else "")
