"""Choose the counter of a log that stands for the job, and find what contradicts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobmon_core.domain.humanize import number, plural
from jobmon_core.domain.logs.progress.log.fold import LogState
from jobmon_core.domain.logs.progress.log.formats import BATCHES, OWN, Role
from jobmon_core.domain.logs.progress.log.tracks import FIRST_SEEN, LAST_SEEN, Track
from jobmon_core.domain.logs.progress.model import Progress

_BESIDE = 4  # readings between counters on one line, or on lines that follow each other, at most
_LIVE_READINGS = 200  # one that was updated within so many is still in use
_MIN_ELAPSED_S = 60.0  # a shorter bar is preparation; an outer one is not given up sooner
_MANY_ROUNDS = 2  # of an inner counter: by then, an outer one would have moved
# without clocks, an outer counter is given up after so many updates of the inner one, plus some for each own
_PATIENCE, _PATIENCE_PER_UPDATE = 10, 3
_SAME_COUNT_RATIO = 1.02  # a line about the same step as a bar may be ahead by so much
_STALE_READINGS = 20  # likewise, a bar does not move any more
_SURE_UPDATES, _LONG_SILENCE = 3, 3.0  # after so many updates, a pause so many times the usual one is long
_SAME_SPEED = 3.0  # of bars that do the same work, one after the other


@dataclass(frozen=True, slots=True)
class ChosenCounters:
    """The counters that stand for the progress."""

    job: Track
    inner: Track
    earlier: tuple[Track, ...] = ()  # full bars of the same kind before it
    batches: Track | None = None  # counted beside items
    others: tuple[Track, ...] = ()  # further ones, and lines about epochs


def choose(state: LogState) -> ChosenCounters | None:
    """Return the counters that stand for the progress."""
    candidates = candidates_of(state.tracks)
    if not candidates:
        return None
    batches = [track for track in candidates if _counts_batches_of_items(track, candidates)]
    candidates = [track for track in candidates if track not in batches]
    inner = _innermost(candidates)
    # of bars that take turns in each epoch, e.g. of training and evaluation, the first one is the work
    turns = (each for each in candidates if _is_before_in_cycle(each, inner))
    inner = min(turns, key=FIRST_SEEN, default=inner)
    job = _outer(candidates, inner) or _with_total(candidates, inner) or inner
    job = _slowest(candidates, job)
    earlier = tuple(track for track in candidates if _is_earlier_part(track, job))
    latest = max(batches, key=LAST_SEEN, default=None)
    others = tuple(track for track in (*candidates, *batches) if track != job)
    return ChosenCounters(_moved_on_by(job, inner), inner, earlier, latest, others)


def _slowest(candidates: list[Track], job: Track) -> Track:
    """Return the bar of the process that is furthest behind."""
    same = [track for track in candidates if _are_same_counter(track, job)]
    live = [track for track in same if not track.is_full and _is_live(track, job)]
    return min(live, key=lambda track: track.reached, default=job)


def _counts_batches_of_items(track: Track, others: list[Track]) -> bool:
    """Whether a line counts batches or steps beside one that counts the items in them."""
    if track.is_bar or track.n is None or track.unit not in BATCHES:
        return False
    items = [each for each in others if each.unit == "item" and each.total is not None and not each.is_bar]
    return any(abs(each.last_seen - track.last_seen) <= _BESIDE for each in items)


def _moved_on_by(job: Track, inner: Track) -> Track:
    """Return ``job`` with the count of ``inner``, if that counts the same and is just ahead.

    If ``job`` is an old bar that no longer moves, return ``inner`` with its total.
    """
    n, later = job.reached, inner.reached
    is_plain = inner.total is None and inner.epoch is None and not (inner.resets or inner.rounds)
    if not (job.is_bar and is_plain and job.unit == inner.unit and n < later <= (job.total or 0.0)):
        return job
    if later <= _SAME_COUNT_RATIO * n:
        return job._replace(n=later)
    return inner._replace(total=job.total) if _stands_still(job, inner) else job


def _stands_still(bar: Track, line: Track) -> bool:
    """Whether lines that count the same went on from a bar that is not printed any more, or passed it."""
    silent = line.last_seen - bar.last_seen
    if bar.last_seen < line.first_seen and line.updates > 1:
        step = (line.reached - (line.first_n or 0.0)) / (line.updates - 1)
        if 0 <= (line.first_n or 0.0) - bar.reached <= step:
            return True
    if bar.updates >= _SURE_UPDATES:
        usual = (bar.last_seen - bar.first_seen) / (bar.updates - 1)
        return silent >= max(_STALE_READINGS, _LONG_SILENCE * usual)
    # in a log that is overwritten in place, an old bar may stand ahead of the lines until they pass it
    was_ahead = bar.first_seen < line.first_seen and (bar.first_n or 0.0) > (line.first_n or 0.0)
    return was_ahead and silent >= _STALE_READINGS


def _innermost(candidates: list[Track]) -> Track:
    """Return the latest counter; if that is a line about an epoch, the latest one within it."""
    latest = max(candidates, key=LAST_SEEN)
    if not latest.is_epoch_line:
        return latest
    within = [track for track in candidates if track.n is not None and _is_within(track, latest)]
    return max(within, key=LAST_SEEN, default=latest)


def _is_before_in_cycle(track: Track, bar: Track) -> bool:
    are_alike = track.is_bar and bar.is_bar and (track.format, track.label) == (bar.format, bar.label)
    if not are_alike or track.total in (None, bar.total) or not track.is_nearly_full:
        return False
    is_first = track.first_seen < bar.first_seen and track.last_seen < bar.last_seen
    return is_first and 0 < bar.rounds <= track.rounds and track.last_seen > bar.last_round


def _is_within(track: Track, epoch_line: Track) -> bool:
    if track.epoch is not None and epoch_line.epoch is not None:
        return track.epoch >= epoch_line.epoch - 1
    return track.last_seen > epoch_line.first_seen


def candidates_of(tracks: tuple[Track, ...]) -> list[Track]:
    """Return the counters of the job, else those of evaluations, else those of loading."""
    for role in (Role.MAIN, Role.EVALUATION, Role.LOADING):
        counting = _counting([track for track in tracks if track.role is role and track.may_count])
        if own := [track for track in counting if track.format.startswith(OWN)]:
            return own + _beside_own(own, counting)
        if counting:
            work = [track for track in counting if not (track.fallback or _is_preparation(track, counting))]
            return work or counting
    return []


def _beside_own(own: list[Track], counting: list[Track]) -> list[Track]:
    """Return the other tracks that count: beside the user's own count, they only say which epoch it is."""
    is_counted = any(track.n is not None for track in own)
    others = [track for track in counting if track not in own]
    return [track for track in others if track.is_epoch_line or not is_counted]


def _counting(tracks: list[Track]) -> list[Track]:
    counting = [track for track in tracks if not _is_lone_mention(track)]
    if not counting:
        # a single line may be the first of a count; about evaluations or loading, only if it has a total
        counting = [track for track in tracks if track.role is Role.MAIN or track.total is not None]
    if all(track.is_full for track in counting):  # they were a part; what begins now may be the job
        counting += [track for track in tracks if _has_just_begun(track)]
    return counting


def _is_preparation(bar: Track, others: list[Track]) -> bool:
    if not (bar.is_bar and bar.is_full and bar.elapsed_s is not None and bar.elapsed_s < _MIN_ELAPSED_S):
        return False
    return any(each.fallback and each.first_seen > bar.last_seen and each.updates > 1 for each in others)


def _is_lone_mention(track: Track) -> bool:
    """Whether the log names a number only once, e.g. a setting; no bar, first epoch, or count of an epoch."""
    has_moved = track.rounds > 0 or (track.n, track.epoch) != (track.first_n, track.first_epoch)
    is_first_epoch = track.epoch is not None and track.epoch <= 1
    is_count_in_epoch = track.epoch is not None and track.total is not None
    return not (track.is_bar or has_moved or is_first_epoch or is_count_in_epoch)


def _has_just_begun(track: Track) -> bool:
    return track.total is not None and not track.is_full and _is_lone_mention(track) and track.reached <= 1


def _outer(candidates: list[Track], inner: Track) -> Track | None:
    started_before = [track for track in candidates if track.first_seen < inner.first_seen]
    containing = [
        track
        for track in sorted(started_before, key=FIRST_SEEN)
        if not _are_same_counter(track, inner) and _contains(track, inner)
    ]
    with_total = (track for track in containing if (track.epochs or track.total) is not None)
    return next(with_total, containing[0] if containing else None)


def _contains(outer: Track, inner: Track) -> bool:
    if outer.is_epoch_line:
        return not inner.is_epoch_line and inner.epoch is None and is_per_epoch(inner)
    if outer.is_finished or outer.total is None or _is_next_phase(inner, outer):
        return False
    if outer.n == outer.first_n:
        return _has_begun_with(outer, inner)
    if outer.last_seen > inner.first_seen:
        return True
    if outer.elapsed_s is not None and inner.elapsed_s is not None:
        return inner.elapsed_s <= max(outer.elapsed_s, _MIN_ELAPSED_S)
    return inner.updates <= _PATIENCE + _PATIENCE_PER_UPDATE * outer.updates


def _has_begun_with(outer: Track, inner: Track) -> bool:
    is_at_start = (not outer.is_bar or outer.reached <= 1) and inner.rounds < _MANY_ROUNDS
    # a bar with the same total is the same bar, which got its label later
    return is_at_start and inner.epoch is None and outer.total != inner.total


def _is_next_phase(track: Track, before: Track) -> bool:
    """Whether lines count on where others had stopped: steps contain no steps."""
    are_alike = track.unit == before.unit and not (track.is_bar or before.is_bar)
    return are_alike and before.last_seen < track.first_seen


def _with_total(candidates: list[Track], inner: Track) -> Track | None:
    if inner.total is not None or inner.epochs is not None:
        return None
    counting = (each for each in candidates if each.total is not None and not each.is_full)
    return max((each for each in counting if _is_live(each, inner)), key=LAST_SEEN, default=None)


def _are_same_counter(one: Track, other: Track) -> bool:
    return (one.format, one.label, one.total) == (other.format, other.label, other.total)


def _is_live(track: Track, other: Track) -> bool:
    return track.last_seen >= other.last_seen - _LIVE_READINGS


def is_part_before(track: Track, job: Track) -> bool:
    """Whether ``track`` is a bar that was full before ``job`` began."""
    return track.is_bar and job.is_bar and track.is_full and track.last_seen < job.first_seen


def _is_earlier_part(track: Track, job: Track) -> bool:
    if not is_part_before(track, job) or track.total == job.total:
        return False
    if (track.format, track.label) != (job.format, job.label):
        return False
    if not track.rate_per_s or (track.elapsed_s or 0.0) < _MIN_ELAPSED_S:
        return False
    if job.rate_per_s is None:
        return job.reached == 0.0
    return 1 / _SAME_SPEED < job.rate_per_s / track.rate_per_s < _SAME_SPEED


def is_per_epoch(track: Track) -> bool:
    """Whether a counter beside lines about epochs starts again in each."""
    counts_again = track.rounds > 0 and track.total is not None
    return track.n is not None and (track.is_bar or track.resets or counts_again or track.unit == "batch")


_SLACK = 0.02  # of the job: lines are printed now and then
_CONTRADICTION = 0.1  # of the job: shares that differ by more are not those of one job
# readings, or share of them, in which only one of two counters beside each other is seen
_NEAR, _APART = 4, 0.1


def contradiction(job: Track, progress: Progress, others: Sequence[Track]) -> tuple[str, ...]:
    """Return what ``job`` and one that contradicts it count, e.g. ``120 of 640 steps``."""
    share = progress.fraction
    if share is None or progress.total != job.total or job.epoch is not None or job.rounds:
        return ()
    for other in others:
        if _is_in_another_epoch(job, other, share):
            return _counted(job.n, job.total, job.unit), _counted(other.epoch, other.epochs, "epoch")
        if _runs_beside(job, other) and abs(other.reached / (other.total or 1.0) - share) > _CONTRADICTION:
            return _counted(job.n, job.total, job.unit), _counted(other.n, other.total, other.unit)
    return ()


def _is_in_another_epoch(job: Track, other: Track, share: float) -> bool:
    """Whether a line names an epoch to which the finished share of the job does not belong.

    One that is not printed with each count may mark the end of its epoch.
    """
    if job.is_bar or other.epoch is None or (other.epochs or 0.0) <= 1:
        return False
    is_on_each_line = 2 * other.updates > job.updates
    passed = other.epoch + (1 if other.counts_from_zero or not is_on_each_line else 0)
    least, most = (other.epoch - 1) / (other.epochs or 1.0), passed / (other.epochs or 1.0)
    return not least - _SLACK <= share <= most + _SLACK


def _runs_beside(job: Track, other: Track) -> bool:
    both = (job, other)
    if any(track.total is None or track.is_full or track.rounds or track.epoch is not None for track in both):
        return False
    have_moved = all(
        track.updates >= _SURE_UPDATES and track.reached > (track.first_n or 0.0) + 1 for track in both
    )
    is_same = (job.format, job.label) == (other.format, other.label)
    shared = min(job.last_seen, other.last_seen) - max(job.first_seen, other.first_seen)
    whole = max(job.last_seen, other.last_seen) - min(job.first_seen, other.first_seen)
    return have_moved and whole - shared <= max(_NEAR, _APART * whole) and not is_same


def _counted(n: float | None, total: float | None, unit: str) -> str:
    return f"{number(n or 0.0)} of {number(total or 0.0)} {plural(unit)}"
