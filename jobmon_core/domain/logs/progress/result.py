"""How far a run came, in words for the message about its end, and whether a success did all that it should.

What the logs do not show for sure is left out.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

from jobmon_core.domain.humanize import duration, number, plural, rate
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis
from jobmon_core.domain.logs.progress.curve import median
from jobmon_core.domain.logs.progress.estimate import estimate, limit_outlook
from jobmon_core.domain.logs.progress.events.detect import stall_after_s
from jobmon_core.domain.logs.progress.figures import last_figures, loss
from jobmon_core.domain.logs.progress.model import COUNTERS, Progress, Sample, TaskProgress

# Both together are a sign that it diverged, although it ended well.
_EARLY_STOP = re.compile(r"(?i)early[ -]stop")
_FIRST_EPOCHS = 2
_FIRST_SHARE = 0.2  # of the steps, if the log shows no epochs
_MIN_SAMPLES = 20
_SPIKE = 10  # times the median

_ENOUGH = 0.99  # of the expected units counts as all
_STANDSTILL_ADVICE = "Find out first why it made no progress: if it hung, more time will not help."
_LONG_IDLE = 0.1  # of the run, without progress, suggests a hang


def with_result(
    diagnosis: Diagnosis, followed: TaskProgress, *, succeeded: bool, expected: float | None
) -> Diagnosis:
    """Return the diagnosis of a run that has ended, with how far it came if its logs show that.

    A success that did clearly less than the user ``expected``, and has no other cause, is `INCOMPLETE`.
    """
    progress = followed.progress
    if progress is None or not followed.history.samples:  # this run has shown none
        return diagnosis
    work = _work(progress, followed) if succeeded else _position(progress)
    diagnosis = replace(diagnosis, work=work, figures=last_figures(progress))
    if doubt := early_divergence(followed):
        diagnosis = replace(diagnosis, work="; ".join(filter(None, (diagnosis.work, doubt))))
    if not succeeded or diagnosis.cause or not _is_short(progress, followed, expected):
        return diagnosis
    units = f"{_of_total(progress)} {plural(progress.unit)}"
    return replace(
        diagnosis,
        cause=INCOMPLETE,
        label=None,
        title="Incomplete",
        what_failed=f"Processed only {units}",
        explanation=(
            f"The program ended with exit code 0, but its log counts only {number(progress.current)}. The "
            "total is that of `--total-items`, or of `total_items` in the job configuration."
        ),
        advice="Check the results. If there is less to process, correct `total_items`.",
        fingerprint=fingerprint(INCOMPLETE, ""),
    )


def with_time_needed(
    diagnosis: Diagnosis, followed: TaskProgress, ended_s: float, elapsed_s: float
) -> Diagnosis:
    """Return the diagnosis of a run that reached its time limit, with the time that it would have needed.

    If it made no progress for long, the advice says instead that more time may not help.
    """
    progress, samples = followed.progress, followed.history.samples
    if progress is None or not samples or progress.fraction == 1.0 or progress.end_marker:
        return diagnosis
    started_s = followed.history.started_s or samples[0].at_s
    idle_s = ended_s - samples[-1].at_s
    if idle_s < max(stall_after_s(followed.history), _LONG_IDLE * (ended_s - started_s)):
        rest = estimate(followed.history, progress.total, ended_s)
        outlook = limit_outlook(rest, ended_s - elapsed_s, ended_s, ended_s)
        if not rest.remaining_s or outlook is None:
            return diagnosis
        needed = f"At its speed, it needs about {duration(elapsed_s + rest.remaining_s)}"
        enough = f"{needed}: `--time={outlook.sufficient_time}` leaves a margin."
        return replace(
            diagnosis,
            work=f"{diagnosis.work}; at its speed, the rest takes about {duration(rest.remaining_s)}",
            advice=f"{enough} {diagnosis.advice}",
        )
    return replace(
        diagnosis,
        work=f"{diagnosis.work}, and no progress in its last {duration(idle_s)}",
        advice=f"{_STANDSTILL_ADVICE} {diagnosis.advice}",
    )


def _work(progress: Progress, followed: TaskProgress) -> str:
    """Return e.g. ``100,000 items, 245.8 items/s on average``."""
    if progress.unit == "%" or progress.current <= 0:
        return ""
    speed = rate(estimate(followed.history, None, 0.0).average_rate_per_s, progress.unit)
    return f"{_of_total(progress)} {plural(progress.unit)}" + (f", {speed} on average" if speed else "")


def _position(progress: Progress) -> str:
    if progress.unit == "%":
        return f"reached {number(progress.current)}%"
    share = "" if progress.fraction is None else f" ({int(100 * progress.fraction)}%)"
    return f"reached {progress.unit} {_of_total(progress)}{share}"


def _of_total(progress: Progress) -> str:
    """Return e.g. ``67,300 of 100,000``."""
    if not progress.total or progress.current >= progress.total:
        return number(progress.current)
    return f"{number(progress.current)} of {number(progress.total)}"


def _is_short(progress: Progress, followed: TaskProgress, expected: float | None) -> bool:
    """Whether less was done than ``expected``, and neither the log nor how it counts explains that."""
    counts_the_same = expected is not None and progress.total == expected and progress.unit not in COUNTERS
    if expected is None or not counts_the_same or progress.end_marker:  # e.g. "Early stopping"
        return False
    # a program that prints its count only now and then may end without printing the last one
    looks = [sample.current for sample in followed.history.samples]
    longest_step = max((after - before for before, after in itertools.pairwise(looks)), default=looks[0])
    return progress.current < _ENOUGH * expected and expected - progress.current > longest_step


def early_divergence(followed: TaskProgress) -> str:
    """Return evidence that a run which stopped early has diverged, as the end of a sentence.

    An outlier between two of jobmon's looks at the log is not seen.
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
    value = sample.grad_norm or 0.0
    return math.inf if math.isnan(value) else value


def _end_of_start(progress: Progress, last: float) -> float:
    whole = progress.total or last
    if progress.epochs:
        return whole * min(1.0, _FIRST_EPOCHS / progress.epochs)
    if progress.epoch and progress.epoch > _FIRST_EPOCHS:
        return last * _FIRST_EPOCHS / progress.epoch
    return whole * _FIRST_SHARE
