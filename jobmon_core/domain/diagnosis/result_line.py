"""The line near the end of a successful job's logs that says most about its result."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.diagnosis.log_lines import LogExcerpt, LogLines
    from jobmon_core.domain.diagnosis.model import Line

_MAX_READ = 400  # lines from the end of each log
_MAX_CANDIDATES = 40  # at most so many of these lines are considered, without noise
_METRIC = re.compile(
    r"(?i)(?<![a-z])(?:loss|acc|accuracy|f1|auc|bleu|rouge|ppl|perplexity|reward|score|mae|r?mse|mse|miou|iou|"
    r"dice|wer|cer|nll|error rate)(?![a-z])[^\d\n]{0,16}\d"
)
_PROGRESS_BAR = re.compile(r"\d%\||[\u2588-\u258f]{2}|\d(?:it/s|s/it)\b|={6,}>?\.*\]")
_NOISE = re.compile(r"(?i)\bwarn|deprecat|^(?:wandb|srun|slurmstepd): ")
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
