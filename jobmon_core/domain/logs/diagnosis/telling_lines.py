"""What lines say that match no pattern."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.patterns import is_heading

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
    from jobmon_core.domain.logs.diagnosis.model import Line
    from jobmon_core.domain.logs.diagnosis.patterns import Match


_MAX_BELOW = 12  # lines between a heading and its reason
_MIN_WORDS = 2  # of a reason
_WORD = re.compile(r"[^\W\d_]{2,}")
# below a heading: where the failure was noticed, and progress; neither is the reason
_NO_REASON = re.compile(
    r"(?i)\bfile\b.{1,200}\bline\b|\bINFO\b"
    r"|^\W*(?:from function|source file|mpi rank|program|pid|code|at) *[:/]"
)

_MAX_NEAR_END = 30  # lines with text, in which clear words of failure count
_LAST = 5  # likewise, for words that healthy logs contain elsewhere
_MAX_ORDINARY = 8  # lines after words of failure: with more, the program went on
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
    """Return where the reason below a heading is."""
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
    """Return the positions of the lines near the end, from ``since`` on, that speak of a failure.

    They are not among ``matches``, and hardly any other line follows them. The nearer to the end, the less
    clear the words may be.
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


_MAX_READ = 400  # lines from the end of each log
_MAX_CANDIDATES = 40  # lines that say something, from the end of each log
_METRIC = re.compile(
    r"(?i)(?<![a-z])(?:loss|acc|accuracy|f1|auc|bleu|rouge|ppl|perplexity|reward|score|mae|r?mse|mse|miou|iou|"
    r"dice|wer|cer|nll|error rate)(?![a-z])[^\d\n]{0,16}\d"
)
_PROGRESS_BAR = re.compile(r"\d%\||[\u2588-\u258f]{2}|\d(?:it/s|s/it)\b|={6,}>?\.*\]")
_NOISE = re.compile(r"(?i)\bwarn|deprecat|^(?:wandb|srun|slurmstepd): ")
_LOSS = r"""loss['"]?(?:\s*[:=]\s*|\s+)['"]?(?:tensor\()?[-+]?\.?\d"""
_FINITE_LOSS = re.compile(f"(?i){_LOSS}")
_FINITE_VALIDATION_LOSS = re.compile(rf"(?i)\b(?:val|valid|validation|eval|test|dev)[\w ./-]{{0,12}}{_LOSS}")
_OF_THE_PAST = re.compile(r"(?i)\b(?:best|lowest|min|minimum|previous)(?![a-z])")  # as in "best loss: 0.31"
_CLOSING = re.compile(r"(?i)\d:\d\d|\b(?:done|finish|complet|end|exit|fail|success|stop|elapsed|job\b)")
_KEY = re.compile(r"[\w+/=-]{40}")  # part of a key or hash, or a long path
_TEXT = re.compile(r"[^\W_]{2}")


def result_line(lines: LogLines) -> Line | None:
    """Return the last line with a metric such as the loss, else the last one that says anything."""
    fallback: Line | None = None
    start = 0
    for excerpt in lines.excerpts:
        candidates = list(islice(_candidates(excerpt), _MAX_CANDIDATES))
        metric = next((index for index in candidates if _METRIC.search(excerpt.texts[index])), None)
        if metric is not None:
            return lines[start + metric]
        if candidates and fallback is None:
            fallback = lines[start + candidates[0]]
        start += len(excerpt.texts)
    return fallback


def says_result(text: str) -> bool:
    """Whether a line has a figure that a program computed, not only a time or an id."""
    return bool(_METRIC.search(text)) or (any(map(str.isdigit, text)) and not _CLOSING.search(text))


def nan_at_end(lines: LogLines, nan_losses: Sequence[int]) -> int | None:
    """Return where the loss became nan and stayed so, in each log that has one.

    ``nan_losses`` are the positions of the lines with such a training loss, in ascending order. A finite loss
    of validation in such a line shows that the model still works.
    """
    found: int | None = None
    start = 0
    for excerpt in lines.excerpts:
        own = [position - start for position in nan_losses if 0 <= position - start < len(excerpt.texts)]
        finite = _last_finite_loss(excerpt.texts, set(own))
        first = next((start + index for index in own if finite is None or index > finite), None)
        if finite is not None and first is None:
            return None
        found = first if found is None else found
        start += len(excerpt.texts)
    return found


def _last_finite_loss(texts: Sequence[str], nan_losses: Container[int]) -> int | None:
    for index in range(len(texts) - 1, -1, -1):
        pattern = _FINITE_VALIDATION_LOSS if index in nan_losses else _FINITE_LOSS
        if pattern.search(texts[index]) and not _OF_THE_PAST.search(texts[index]):
            return index
    return None


def _candidates(excerpt: LogExcerpt) -> Iterator[int]:
    texts = excerpt.texts
    for index in range(len(texts) - 1, max(-1, len(texts) - 1 - _MAX_READ), -1):
        if _METRIC.search(texts[index]) or _says_something(texts[index]):
            yield index


def _says_something(text: str) -> bool:
    return bool(_TEXT.search(text)) and not any(
        pattern.search(text) for pattern in (_PROGRESS_BAR, _NOISE, _KEY)
    )
