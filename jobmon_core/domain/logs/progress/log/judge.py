"""Decide how far the job is, by the counters of its log, and combine what several logs show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from jobmon_core.domain.logs.progress.log.choose import (
    ChosenCounters,
    candidates_of,
    choose,
    contradiction,
    is_part_before,
    is_per_epoch,
)
from jobmon_core.domain.logs.progress.log.fold import LogState
from jobmon_core.domain.logs.progress.log.tracks import LAST_SEEN, Track
from jobmon_core.domain.logs.progress.log.values import counted_unit
from jobmon_core.domain.logs.progress.model import COUNTERS, Progress

_PARTS = 2  # so many full bars: then a further one need not be the last
_TOTAL_TOLERANCE = 1.05  # a counter that exceeds an announced total more proves it wrong
_SAME_SPEED = 2.0  # speeds of the same thing differ by less
# a counter from 0 that prints one less than a multiple of this, as in ``Epoch 0/99``, prints its last epoch
_ROUND_NUMBER = 5
_OWN_TOTALS = ("epoch", "item", "episode", "trial")  # units to which a total of steps does not apply


def judge(state: LogState) -> Progress | None:
    """Return the progress of the job by one log."""
    chosen = choose(state)
    if chosen is None:
        return None
    progress = _nested(chosen, state) or _single(chosen, state)
    innermost = chosen.batches or chosen.inner
    if chosen.job.is_full and sum(is_part_before(each, chosen.job) for each in chosen.others) >= _PARTS:
        progress = replace(progress, total=None)  # one of many parts is done
    if unclear := contradiction(chosen.job, progress, chosen.others):
        progress = replace(progress, total=None, remaining_s=None, unclear=unclear)
    return replace(
        progress,
        batch=innermost.n,
        batches=innermost.total if innermost.n is not None else None,
        rate_per_s=_rate(chosen, progress, state),
        loss=state.loss,
        learning_rate=state.learning_rate,
        grad_norm=state.grad_norm,
        metrics=state.metrics,
        label=chosen.job.label,
        format=chosen.job.format,
        end_marker=state.end_marker,
        run=state.run,
    )


def _rate(chosen: ChosenCounters, progress: Progress, state: LogState) -> float | None:
    """Return the speed by the counter, else by a metric in the same unit, else by the time of its lines.

    One that differs much from the time of a step may be that of something else, e.g. steps of an environment.
    """
    job, metric = chosen.job, None
    if counted_unit(state.rate_unit) == progress.unit and (
        progress.unit != "step" or job.noun[:2] in ("", state.rate_unit[:2])  # "it" for it, iter, iteration
    ):
        metric = state.rate_per_s
    step_s = state.metrics.get("step_time_s") if progress.unit == "step" else None
    if step_s and not (metric and 1 / _SAME_SPEED < metric * step_s < _SAME_SPEED):
        metric = 1 / step_s
    pace = job.pace_per_s
    if pace and job.unit != progress.unit:
        pace = pace * chosen.inner.total if job.is_epoch_line and chosen.inner.total else None
    return progress.rate_per_s or metric or pace or None


def _nested(chosen: ChosenCounters, state: LogState) -> Progress | None:
    if chosen.job.is_epoch_line and chosen.inner.total is not None and is_per_epoch(chosen.inner):
        return _combined(chosen, state)
    if chosen.job.is_bar and chosen.job.unit == "epoch":
        bars = (each for each in candidates_of(state.tracks) if each.is_bar and each.total is not None)
        within = [each for each in bars if each.first_seen > chosen.job.first_seen]
        if within:
            return _of_two_bars(chosen.job, max(within, key=lambda track: track.total or 0.0))
    return None


def _of_two_bars(epochs: Track, inner: Track) -> Progress:
    per_epoch = inner.total or 0.0
    # once the bar of epochs moves, it counts the ended epoch; a reprint of it, e.g. with a loss, does not
    has_ended = inner.is_full and (epochs.last_change or epochs.last_seen) > inner.last_seen
    n, elapsed_s = (0.0, 0.0) if has_ended else (inner.reached, inner.elapsed_s or 0.0)
    return Progress(
        epoch=epochs.n,
        epochs=epochs.total,
        current=epochs.reached * per_epoch + n,
        total=None if epochs.total is None else epochs.total * per_epoch,
        unit=inner.unit,
        elapsed_s=None if epochs.elapsed_s is None else epochs.elapsed_s + elapsed_s,
        remaining_s=epochs.remaining_s,
    )


def _combined(chosen: ChosenCounters, state: LogState) -> Progress:
    # after the last epoch, an evaluation may show a bar of the same kind
    kind = chosen.inner.format, chosen.inner.role
    same = [chosen.inner, *(each for each in state.tracks if (each.format, each.role) == kind)]
    return _of_epochs(_within(chosen.job, max(same, key=lambda track: track.rounds)), state)


def _within(epoch_line: Track, inner: Track) -> Track:
    return inner._replace(
        epoch=epoch_line.epoch,
        epochs=epoch_line.epochs,
        first_epoch=epoch_line.first_epoch,
        zero_based=epoch_line.zero_based,
        inclusive=epoch_line.inclusive,
    )


def _single(chosen: ChosenCounters, state: LogState) -> Progress:
    track = chosen.job
    of_batches = chosen.batches if chosen.batches and chosen.batches.epoch is not None else None
    latest = max((each for each in state.tracks if each.is_epoch_line), key=LAST_SEEN, default=of_batches)
    if track.epoch is not None:
        return _of_epochs(_in_later_epoch(track, latest), state)
    if latest is None:
        return _of_rounds(chosen, state)
    if not latest.fallback and _is_ended_by(track, latest):
        return _of_ended_epochs(track, latest, state)
    if not latest.fallback and track.rounds > 0 and not track.is_bar:
        per_epoch = track.round_units / track.rounds
        return _of_epochs(_within(latest, track)._replace(units_per_epoch=per_epoch), state)
    return replace(_of_rounds(chosen, state), epoch=latest.epoch, epochs=_epochs_of(latest, state))


def _in_later_epoch(track: Track, epoch_line: Track | None) -> Track:
    """Return a counter whose lines are rarer than epochs at the start of the epoch of a later line."""
    if epoch_line is None or track.n is None or track.counts_on:
        return track
    is_behind = epoch_line.last_seen > track.last_seen and (epoch_line.epoch or 0.0) > (track.epoch or 0.0)
    return track._replace(epoch=epoch_line.epoch, n=0.0) if is_behind else track


def _of_rounds(chosen: ChosenCounters, state: LogState) -> Progress:
    """Return the progress of all rounds of a counter without epochs, and of equal bars before it."""
    track, n = chosen.job, chosen.job.reached
    common = Progress(current=n, unit=track.unit, rate_per_s=track.rate_per_s)
    base = track.round_units + sum(each.round_units + each.reached for each in chosen.earlier)
    epochs = state.totals.get("epoch") or 0.0
    if base == 0 or track.unit == "%":  # a percentage that starts again is that of another part
        total = track.total if track.total is not None else _announced(track, state, n)
        if track.resets and track.total is not None and epochs > 1:
            total = track.total * epochs
        return replace(common, total=total, elapsed_s=track.elapsed_s, remaining_s=track.remaining_s)
    fits = track.total is not None and not chosen.earlier and track.rounds < epochs
    return replace(common, current=base + n, total=(track.total or 0.0) * epochs if fits else None)


def _is_ended_by(track: Track, epoch_line: Track) -> bool:
    """Whether the lines about epochs stand at the end of each."""
    has_ended = track.rounds > 0 or _is_just_ended(track, epoch_line)
    return (
        has_ended and is_per_epoch(track) and bool(track.total) and track.first_seen < epoch_line.first_seen
    )


def _is_just_ended(track: Track, epoch_line: Track) -> bool:
    return track.is_nearly_full and epoch_line.last_seen > track.last_seen


def _of_ended_epochs(track: Track, epoch_line: Track, state: LogState) -> Progress:
    is_between = _is_just_ended(track, epoch_line)
    # the lines may come later than the counts, and a resumed job begins with a later epoch
    ended = max((epoch_line.epoch or 0.0) + epoch_line.counts_from_zero, track.rounds + is_between)
    current = ended * (track.total or 0.0) + (0.0 if is_between else track.reached)
    epochs = _epochs_of(epoch_line, state)
    total = epochs * track.total if epochs and track.total else None
    return Progress(
        epoch=epoch_line.epoch,
        epochs=epochs,
        current=current,
        total=total if total is not None and current <= total else None,
        unit=track.unit,
        rate_per_s=track.rate_per_s,
    )


def _announced(track: Track, state: LogState, n: float) -> float | None:
    """Return the total that an earlier line announced, or that follows from the eta."""
    if track.whole_eta and track.remaining_s is not None and track.rate_per_s:
        derived = n + track.remaining_s * track.rate_per_s
        known = (*state.announced_steps, *filter(None, (state.totals.get("step"),)))
        fitting = [total for total in known if n <= total and abs(total - derived) <= 0.1 * total]
        return min(fitting, key=lambda total: abs(total - derived), default=float(round(derived)))
    has_own = track.unit in _OWN_TOTALS or track.unit in state.totals
    total = state.totals.get(track.unit if has_own else "step")
    return total if total is not None and n <= _TOTAL_TOLERANCE * total else None


def _epochs_of(track: Track, state: LogState) -> float | None:
    """Return the number of epochs by this counter, else by other lines if it has not exceeded that.

    A counter from 0 may print the number of the last epoch instead, one less.
    """
    if track.epochs is None:
        in_lines = [each.epochs for each in state.tracks if each.is_epoch_line and each.epochs is not None]
        announced = in_lines[-1] if in_lines else state.totals.get("epoch")
        return announced if announced and (track.epoch or 0.0) <= announced else None
    printed = track.epochs
    looks_like_last = (printed + 1) % _ROUND_NUMBER == 0
    is_last = track.inclusive or looks_like_last or (track.epoch or 0.0) >= printed
    return printed + (track.counts_from_zero and is_last)


def _of_epochs(track: Track, state: LogState) -> Progress:
    epoch, per_epoch = track.epoch or 0.0, track.total or track.units_per_epoch
    passed = max(0.0, epoch if track.counts_from_zero else epoch - 1)
    common = Progress(epoch=track.epoch, epochs=_epochs_of(track, state), rate_per_s=track.rate_per_s)
    if track.counts_on and track.n is not None:
        total = track.total or _announced(track, state, track.n)
        if total is not None or common.epochs is None:
            return replace(common, current=track.n, total=total, unit=track.unit)
    if track.n is None or track.counts_on or (per_epoch is None and passed > 0):
        return replace(
            common, current=epoch, total=common.epochs, unit="epoch", remaining_s=track.remaining_s
        )
    current = passed * (per_epoch or 0.0) + track.n
    return _of_units(track, state, replace(common, current=current, unit=track.unit), per_epoch)


def _of_units(track: Track, state: LogState, progress: Progress, per_epoch: float | None) -> Progress:
    current, epochs, total = progress.current, progress.epochs, None
    announced = state.totals.get("step")
    if epochs is None and track.whole_eta and per_epoch and track.rate_per_s and track.remaining_s:
        epochs = float(round((current + track.remaining_s * track.rate_per_s) / per_epoch))
    if epochs and per_epoch and (track.total or not track.resets):
        total = epochs * per_epoch
    elif announced and current <= announced:
        total = announced
    is_of_job = track.whole_eta or epochs == 1
    return replace(progress, total=total, epochs=epochs, remaining_s=track.remaining_s if is_of_job else None)


def with_total(progress: Progress | None, total: float | None) -> Progress | None:
    """Return the progress with the user's total of items; a batch, step or epoch may be many of them."""
    if progress is None or total is None or (progress.total is not None and progress.unit in COUNTERS):
        return progress
    return replace(progress, total=float(total), unclear=())


def with_total_of_checkpoint(progress: Progress | None, saved: Progress | None) -> Progress | None:
    """Return the progress with the total of a checkpoint in the same unit, if the log shows none."""
    if progress is None or saved is None:
        return progress
    total = {"step": saved.total, "epoch": saved.epochs}.get(progress.unit)
    if progress.total is not None or total is None or total < progress.current:
        return progress
    return replace(progress, total=total, unclear=())


_WORKER = "worker"
_FROM_OTHERS = (
    "epoch", "epochs", "loss", "learning_rate", "grad_norm", "elapsed_s", "end_marker",
)  # fmt: skip


def merged(logs: Sequence[tuple[str, LogState]], worker_logs: Collection[str] = ()) -> Progress | None:
    """Return the progress of the job by its logs, each with its path.

    If at least two of ``worker_logs`` show progress, these are summed; likewise if at least two logs do, and
    all of these are logs of workers by their names (``worker_0.log``). Otherwise one log decides: one with a
    total, then one that does not count epochs, then the longest run; the others fill in what it lacks.
    """
    totals: dict[str, float] = {}
    for _, state in logs:
        totals |= state.totals
    # one log may announce the totals of what another one counts
    found = [(path, judge(replace(state, totals=totals | state.totals))) for path, state in logs]
    shown = [(path, progress) for path, progress in found if progress is not None]
    known = [progress for path, progress in shown if path in worker_logs]
    if len(known) > 1:
        return _summed(known)
    workers = [progress for path, progress in shown if _WORKER in path.rpartition("/")[2]]
    if len(workers) > 1 and len(workers) == len(shown):
        return _summed(workers)
    return _completed([progress for _, progress in shown])


def _completed(shown: list[Progress]) -> Progress | None:
    if not shown:
        return None
    best = max(shown, key=_worth)
    missing = {}
    for name in _FROM_OTHERS:
        if getattr(best, name) in (None, ""):
            values = (getattr(each, name) for each in shown)
            missing[name] = next((value for value in values if value not in (None, "")), getattr(best, name))
    metrics: dict[str, float] = {}
    for each in shown:
        metrics |= each.metrics
    return replace(best, metrics=metrics | best.metrics, **missing)


def _worth(progress: Progress) -> tuple[bool, bool, float]:
    return progress.total is not None, progress.unit != "epoch", progress.elapsed_s or 0.0


def _summed(workers: list[Progress]) -> Progress:
    """Return the sum over the workers that count the same unit; the time left is the longest."""
    first = _completed(workers) or workers[0]
    comparable = [each for each in workers if each.unit == first.unit]
    known = [each.total for each in comparable if each.total is not None]
    rates = [each.rate_per_s for each in comparable if each.rate_per_s is not None]
    remaining = [each.remaining_s for each in comparable if each.remaining_s is not None]
    return replace(
        first,
        current=sum(each.current for each in comparable),
        total=sum(known) if len(known) == len(comparable) else None,
        rate_per_s=sum(rates) if len(rates) == len(comparable) else None,
        remaining_s=max(remaining) if len(remaining) == len(comparable) else None,
        batch=None,
        batches=None,
    )
