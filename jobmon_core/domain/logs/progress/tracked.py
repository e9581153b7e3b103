"""How far a run is by what it logs to a tracker, and what that adds to its log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from jobmon_core.domain.logs.progress.log.formats import is_measured
from jobmon_core.domain.logs.progress.model import History, Progress, Sample
from jobmon_core.domain.logs.tracker import COUNTS, Metric, RunStatus, Tracker, TrackerRun

MAX_METRICS = 16  # of a job, as of its log
_MAX_CHOSEN = 4  # metrics that the user did not name
# whose step, unless given, counts calls
_COUNT_CALLS = (Tracker.WANDB, Tracker.TRACKIO)
_EPOCH = ("train/epoch", "epoch")
_RATE = re.compile(r"(?:^|[/_-])(?:lr|learning_rate)(?:$|[/_-])|^lr-")
_NORM = re.compile(r"(?:^|[/_])(?:grad_norm|gradient_norm|grad/norm)$")
_OF_VALIDATION = re.compile(r"(?:^|[/_-])(?:val|valid|validation|eval|test)(?:$|[/_-])")
_NOT_SHOWN = re.compile(
    r"^_|^system[./]|(?:^|[/_])(?:runtime|samples_per_second|steps_per_second|flos|time)(?:$|[/_])"
)
# what parts of one run are called, each in a folder of its own, e.g. by Keras
_PARTS = frozenset(("", "train", "training", "val", "valid", "validation", "eval", "test"))
_SAME_START_S = 60.0
_LATE_S, _LATE_PAUSES = 600.0, 3


def counts_steps(run: TrackerRun) -> bool:
    """Whether the step of a run is that of its training, and not a number of calls."""
    return run.tracker not in _COUNT_CALLS or any(name in run.metrics for name in COUNTS)


def progress_of(run: TrackerRun, metrics: Sequence[str] = (), loss: str = "") -> Progress | None:
    """Return how far a run is; ``metrics`` and ``loss`` are the names that the user chose."""
    counted = next((run.metrics[name].value for name in COUNTS if name in run.metrics), None)
    step = run.step if counted is None else counted
    if step is None:
        return None
    total = float(run.total_steps) if run.total_steps and counts_steps(run) else None
    return Progress(
        current=float(step),
        total=total if total is None or step <= total else None,
        unit="sample" if run.tracker is Tracker.INSPECT else "step",
        epoch=_value(run, next((name for name in _EPOCH if name in run.metrics), "")),
        loss=_value(run, loss or run.loss_name),
        learning_rate=_value(run, _first(run, _RATE)),
        grad_norm=_value(run, _first(run, _NORM)),
        format=run.tracker,
        metrics=_chosen(run, metrics, loss or run.loss_name),
    )


def _first(run: TrackerRun, regex: re.Pattern[str]) -> str:
    return next((name for name in run.metrics if regex.search(name.lower())), "")


def _value(run: TrackerRun, name: str) -> float | None:
    metric = run.metrics.get(name)
    return metric.value if metric else None


def _chosen(run: TrackerRun, metrics: Sequence[str], loss: str) -> dict[str, float]:
    if metrics:
        return {name: run.metrics[name].value for name in metrics if name in run.metrics}
    known = (loss, *COUNTS, *_EPOCH)
    names = [name for name in run.metrics if name not in known and _is_telling(name.lower())]
    return {name: run.metrics[name].value for name in sorted(names)[:_MAX_CHOSEN]}


def _is_telling(name: str) -> bool:
    if _NOT_SHOWN.search(name):
        return False
    return bool(_OF_VALIDATION.search(name)) or is_measured(name)


def with_tracked(
    progress: Progress | None, tracked: Progress | None, *, may_lead: bool = False
) -> Progress | None:
    """Return the progress by the log, with what only the tracker knows; that of the tracker without any.

    The two may count different things, so the count and the total are of one of them: the log, which is
    fresher, unless the tracker is ahead and ``may_lead``, see `may_lead_log`.
    """
    if progress is None or tracked is None:
        return progress or tracked
    if may_lead and tracked.current > progress.current and progress.unit == tracked.unit:
        progress, tracked = tracked, progress
    further = {name: value for name, value in tracked.metrics.items() if name not in progress.metrics}
    metrics = dict([*progress.metrics.items(), *further.items()][:MAX_METRICS])
    return replace(
        progress,
        loss=tracked.loss if progress.loss is None else progress.loss,
        learning_rate=tracked.learning_rate if progress.learning_rate is None else progress.learning_rate,
        grad_norm=tracked.grad_norm if progress.grad_norm is None else progress.grad_norm,
        epoch=tracked.epoch if progress.epoch is None and progress.unit != "epoch" else progress.epoch,
        metrics=metrics,
    )


def may_lead_log(run: TrackerRun | None, printed: Progress | None) -> bool:
    """Whether the count of a run says more than that of the log, if it is ahead.

    A number of a step without a total may be that of a warning, e.g. ``loss is 9 (step 14)``.
    """
    has_total = printed is not None and (printed.total is not None or bool(printed.unclear))
    return run is not None and counts_steps(run) and not has_total


def samples_of(run: TrackerRun, progress: Progress, history: History, now_s: float) -> Iterator[Sample]:
    """Yield the samples of a run that are newer than its history, at the times that the tracker noted."""
    # a run that an earlier attempt began has its samples, too
    last_s = history.samples[-1].at_s if history.samples else (history.started_s or 0.0)
    if progress.current == run.step:
        for metric in run.losses:
            is_new = metric.time_s is not None and last_s < metric.time_s <= now_s
            if metric.time_s is not None and is_new and metric.step is not None:
                yield Sample(metric.time_s, float(metric.step), metric.value)
    at_s = stepped_s(run)
    if at_s is not None:
        yield Sample(min(at_s, now_s), progress.current, progress.loss, progress.grad_norm)


def stepped_s(run: TrackerRun) -> float | None:
    """Return when a run noted a metric last; what it measures of its machine goes on while it hangs."""
    times = (each.time_s for name, each in run.metrics.items() if not name.startswith("system"))
    return max(filter(None, times), default=run.updated_s)


def one_run(runs: Iterable[TrackerRun]) -> TrackerRun | None:
    """Return the one that several files of one tracker show; None if they may be several runs.

    Its parts, e.g. ``train`` and ``validation``, are one run: the first has the count.
    """
    found = sorted(runs, key=lambda run: (-(run.step or -1), run.run_id))
    if len(found) <= 1:
        return next(iter(found), None)
    heads = {run.run_id.partition("/")[0] for run in found}
    leaves = {run.run_id.rpartition("/")[2] for run in found}
    starts_s = [run.resumed_s or run.started_s or 0.0 for run in found]
    are_parts = len(heads) == 1 or leaves <= _PARTS
    if found[0].tracker is not Tracker.TENSORBOARD or not are_parts:
        return None
    if max(starts_s) - min(starts_s) > _SAME_START_S:
        return None
    main, *others = sorted(
        found, key=lambda run: ("val" in run.run_id or "test" in run.run_id, not run.loss_name)
    )
    metrics: dict[str, Metric] = dict(main.metrics)
    for each in others:
        leaf = each.run_id.rpartition("/")[2]
        metrics |= {f"{leaf}/{name}": metric for name, metric in each.metrics.items()}
    return replace(main, metrics=metrics)


def with_page(run: TrackerRun, page: TrackerRun) -> TrackerRun:
    """Return a run as its files and its server show it: the values of the one that is ahead."""
    status = run.status if page.status is RunStatus.UNKNOWN else page.status
    run = replace(run, url=page.url, status=status, total_steps=run.total_steps or page.total_steps)
    if page.step is None or page.step <= (run.step or 0):
        return run
    kept = replace(page, place=run.place, url=page.url, status=status, alerts=run.alerts)
    return replace(kept, name=run.name or page.name, resumed_s=run.resumed_s)


def compact(runs: Iterable[TrackerRun], progress: Progress | None) -> tuple[TrackerRun, ...]:
    """Return runs with what is shown: without what the next look needs, and most metrics."""
    shown = progress.metrics if progress else {}
    return tuple(
        replace(
            run,
            losses=(),
            read={},
            metrics={name: each for name, each in run.metrics.items() if name in (*shown, run.loss_name)},
        )
        for run in runs
    )


def is_offline(run: TrackerRun) -> bool:
    """Whether a run is kept in files until its user uploads it."""
    return run.tracker is Tracker.WANDB and "/offline-run-" in run.place


def behind_s(run: TrackerRun, history: History) -> float | None:
    """Return by how much a tracker is behind a log that goes on, if that is much; None if it keeps up."""
    at_s, samples = stepped_s(run), history.samples
    if at_s is None or run.step is None or not samples:
        return None
    late_s = samples[-1].at_s - at_s
    return late_s if late_s > max(_LATE_S, _LATE_PAUSES * history.longest_pause_s) else None
