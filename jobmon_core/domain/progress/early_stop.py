"""Whether a training that stopped early had an outlier of the gradient norm in its first epochs.

Both together are a sign that it diverged, although it ended well.
"""

from __future__ import annotations

import math
import re

from jobmon_core.domain.humanize import number
from jobmon_core.domain.progress.curve import median
from jobmon_core.domain.progress.figures import loss
from jobmon_core.domain.progress.model import Progress, Sample, TaskProgress

_EARLY_STOP = re.compile(r"(?i)early[ -]stop")
_FIRST_EPOCHS = 2
_FIRST_SHARE = 0.2  # of the steps, if the log shows no epochs
_MIN_SAMPLES = 20
_SPIKE = 10  # times the median


def early_divergence(followed: TaskProgress) -> str:
    """Return evidence that a run which stopped early has diverged, as the end of a sentence; empty without.

    The samples are those of jobmon's looks at the log, so an outlier between two looks is not seen.
    """
    progress = followed.progress
    if progress is None or not _EARLY_STOP.search(progress.end_marker):
        return ""
    known = [each for each in followed.history.samples if each.grad_norm is not None]
    if len(known) < _MIN_SAMPLES:
        return ""
    usual = median([_norm(each) for each in known])
    end = _end_of_start(progress, known[-1].current)
    worst = max((each for each in known if each.current <= end), key=_norm, default=None)
    if worst is None or not _norm(worst) > _SPIKE * usual:
        return ""
    at = f"{progress.unit} {number(worst.current)}"
    norm = f"{loss(worst.grad_norm)} at {at} (usually {loss(usual)})"
    return f"it stopped early, and its gradient norm was {norm}: it may have diverged"


def _norm(sample: Sample) -> float:
    """Return the gradient norm of a sample that has one; nan counts as infinite."""
    value = sample.grad_norm or 0.0
    return math.inf if math.isnan(value) else value


def _end_of_start(progress: Progress, last: float) -> float:
    """Return the position at which the first epochs end, in units of the whole job."""
    whole = progress.total or last
    if progress.epochs:
        return whole * min(1.0, _FIRST_EPOCHS / progress.epochs)
    if progress.epoch and progress.epoch > _FIRST_EPOCHS:
        return last * _FIRST_EPOCHS / progress.epoch
    return whole * _FIRST_SHARE
