"""Pattern files, written by tests, and the patterns that match a line."""

from __future__ import annotations

import json

from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.observe.patterns.load import parse_patterns
from jobmon_core.observe.patterns.match import Matcher


def log(*texts: str) -> LogLines:
    return LogLines([LogExcerpt("job.err", texts)])


def matching_ids(matcher: Matcher, *texts: str) -> list[str]:
    """Return the id of the pattern of each line that has one."""
    lines = log(*texts)
    return [match.pattern.id for match in LogAnalysis(matcher.find_matches(lines), lines).matches]


def entry(**changes: object) -> dict[str, object]:
    return {
        "id": "mine", "title": "Mine", "severity": "error", "role": "root", "regex": "^boom$",
        "cause": "A boom.", "advice": "Duck.", "precedence": 99, "examples": ["boom"],
        "counter_examples": ["boomerang"], **changes,
    }  # fmt: skip


def document(*entries: object, **changes: object) -> str:
    return json.dumps({"schema_version": 1, "rules": list(entries), **changes})


def faults(text: str) -> tuple[str, ...]:
    """Return the faults of a pattern file."""
    return parse_patterns(text, "own.json").faults
