"""Where a log gives a reason: below a heading such as ``Fatal error:``, or in words that match no pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.patterns import is_heading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.logs.diagnosis.log_lines import LogLines
    from jobmon_core.domain.logs.diagnosis.patterns import Match

_MAX_BELOW = 12  # lines between a heading and its reason
_MIN_WORDS = 2  # of a reason
_WORD = re.compile(r"[^\W\d_]{2,}")
# below a heading: where the failure was noticed, and progress; neither is the reason
_NO_REASON = re.compile(
    r"(?i)\bfile\b.{1,200}\bline\b|\bINFO\b"
    r"|^\W*(?:from function|source file|mpi rank|program|pid|code|at) *[:/]"
)

_MAX_NEAR_END = 30  # lines with text, from the end of a log, in which clear words of failure count
_LAST = 5  # likewise, for words that healthy logs contain elsewhere
_MAX_ORDINARY = 8  # lines with text after words of failure: with more, the program went on
_CLEAR = re.compile(
    r"\b(?:ERRORS?|FATAL|ABORT(?:ED|ING)?|PANIC|CRITICAL|FAIL(?:ED|URE))\b"
    r"|^\W*(?:\S{1,60}: ?)?E(?:rror|xception)\b\s*[:!(]"
    r"|^\W*(?:\S{1,40}: ){0,2}(?i:cannot|can't|could not|couldn't|unable to|failed to) \w"
    r"|(?i:\b(?:(?:fatal|internal|unhandled) (?:error|exception)|error termination|panic(?:ked)?:"
    r"|abort(?:ed|ing)|crashed|core dumped|segmentation fault|giving up|(?:is|was|became|become) unstable"
    r"|(?:exit|terminat|stopp|quit|finish|end)\w* (?:abnormal|premature|because|due to|on error)"
    r"|(?:exit|terminat|stopp|quit|finish|end)\w* with (?:an )?errors?"
    r"|exit(?:ed|ing)?(?: with)? (?:code|status):? [1-9]|(?:was|got|been) (?:killed|held|evicted)"
    r"|(?:ha[sd]|have|is|was|been|job|run|step|task|process|program|command|script|\w+tion|\w+ance) failed))"
)
_WEAK = re.compile(
    r"(?i)\b(?:errors?|fail\w*|exceptions?|abort\w*|terminat(?:ed|ing)|killed|hangup|crash\w*|invalid|illegal"
    r"|denied|exceed(?:ed|s)|timed out|not found|no such|does not exist|unexpected\w*|unrecognized)\b"
)
# errors that are counted or measured, that there were none, or that were expected or only warned of
_HARMLESS = re.compile(
    r"(?i)\b(?:no|0|zero|without(?: any)?|any|if) (?:\w+ )?(?:errors?|fail\w*)\b"
    r"|\b[0.]+ (?:errors?|fail\w+)\b"
    r"|\b(?:errors?|fail(?:ed|ures?))\b[\"']?\s*(?:(?:[:=(]|\bis\b) *[\"'\[(]?[-+]?[\d.]|[-+]?\d*\.\d)"
    r"|% failed\b|\bwarnings?\b|(?:^\W*|[ \[(|])(?:warn|info|debug)(?:[] ):|]|$)|\.py:\d+: "
    r"|\bretr(?:y|ied|ies)\b|\bignor(?:e|ed|ing)\b|\bskipp?(?:ed|ing)?\b"
)


def reason_below(match: Match, matches: Iterable[Match], lines: LogLines) -> int | None:
    """Return the position of the line that gives the reason below a heading.

    None if the match is no heading, or if no such line follows. ``matches`` are all of the log.
    """
    if not is_heading(match.pattern.id):
        return None
    headings = {each.position for each in matches if is_heading(each.pattern.id)}
    heading = match.position
    for position in range(heading + 1, min(len(lines), heading + 1 + _MAX_BELOW)):
        text = lines.unprefixed[position]
        if lines.labels[position] != lines.labels[heading] or position in headings:
            continue
        if len(_WORD.findall(text)) >= _MIN_WORDS and not _NO_REASON.search(text):
            return position
    return None


def failures_near_end(lines: LogLines, matches: Iterable[Match], since: int) -> tuple[int, ...]:
    """Return the positions of the lines near the end of a log that speak of a failure, in ascending order.

    They are not among ``matches``, lie at or after ``since``, and hardly any line of other content follows
    them. The nearer to the end, the less clear the words may be.
    """
    matched = {match.position for match in matches}
    found: list[int] = []
    ordinary = near = 0
    for position in range(len(lines) - 1, since - 1, -1):
        text = lines.unprefixed[position]
        if not text.strip():
            continue
        near += 1
        if near > _MAX_NEAR_END or ordinary > _MAX_ORDINARY:
            break
        if position in matched:
            continue
        speaks = _CLEAR.search(text) or (near <= _LAST and _WEAK.search(text))
        if speaks and not _HARMLESS.search(text):
            found.append(position)
        elif not text[:1].isspace():
            ordinary += 1
    return tuple(reversed(found))
