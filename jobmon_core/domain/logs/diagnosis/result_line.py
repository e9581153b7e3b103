"""What a job's logs say at their ends about its result: the best line, and whether the loss is nan."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
    from jobmon_core.domain.logs.diagnosis.model import Line

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
_WORD = re.compile(r"[^\W_]{2}")


def result_line(lines: LogLines) -> Line | None:
    """Return the last line with a metric such as the loss, else the last one that says anything, if any.

    The logs are searched in their order: the standard output comes before the standard error.
    """
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
    """Return whether a line has a figure that a program computed, not only the time or the id of a job."""
    return bool(_METRIC.search(text)) or (any(map(str.isdigit, text)) and not _CLOSING.search(text))


def nan_at_end(lines: LogLines, nan_losses: Sequence[int]) -> int | None:
    """Return where the loss became nan and stayed so; None if a log ends with a loss that is finite.

    ``nan_losses`` are the positions of the lines with a training loss that is nan, in ascending order. A
    finite loss of validation in such a line shows that the model still works.
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
    """Return the index of the last line with a finite loss; None without such a line."""
    for index in range(len(texts) - 1, -1, -1):
        pattern = _FINITE_VALIDATION_LOSS if index in nan_losses else _FINITE_LOSS
        if pattern.search(texts[index]) and not _OF_THE_PAST.search(texts[index]):
            return index
    return None


def _candidates(excerpt: LogExcerpt) -> Iterator[int]:
    """Yield the indices of the lines at the end of a log that say something, the last one first."""
    texts = excerpt.texts
    for index in range(len(texts) - 1, max(-1, len(texts) - 1 - _MAX_READ), -1):
        if _METRIC.search(texts[index]) or _says_something(texts[index]):
            yield index


def _says_something(text: str) -> bool:
    """Whether a line has words, and is no progress bar, warning, key or message of wandb or Slurm."""
    return bool(_WORD.search(text)) and not any(
        pattern.search(text) for pattern in (_PROGRESS_BAR, _NOISE, _KEY)
    )
