"""Apply what a log says to what is known of its progress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jobmon_core.domain.logs.progress.log.formats import Reading, Role
from jobmon_core.domain.logs.progress.log.tracks import (
    LAST_SEEN,
    Track,
    falls_back,
    is_stray,
    moved,
    next_round,
    restarted,
    started,
)
from jobmon_core.domain.logs.progress.model import Progress

_MAX_TRACKS = 24
_MAX_ANNOUNCED = 8
_MAX_METRICS = 16
_NEW_RUN_UPDATES = 4  # of a restarted bar: by then, the old one is of an earlier run
_START_SHARE = 0.5  # of its total: a bar that starts again shows less
_SURE_UPDATES = 3  # so many are not one late update of another process
_OF_TRAINING = ("loss", "learning_rate", "grad_norm")
_COUNTERS = (Role.MAIN, Role.EVALUATION, Role.LOADING)


@dataclass(frozen=True, slots=True)
class LogState:
    """What the readings of one log have shown so far. Its size is bounded."""

    readings: int = 0
    tracks: tuple[Track, ...] = ()
    totals: dict[str, float] = field(default_factory=dict)  # announced, by unit, e.g. step, epoch, episode
    announced_steps: tuple[float, ...] = ()  # a dump of settings has several
    loss: float | None = None
    learning_rate: float | None = None
    grad_norm: float | None = None
    rate_per_s: float | None = None  # of a metric, not of a counter
    rate_unit: str = ""
    end_marker: str = ""
    table: str = ""  # the header of the latest table
    run: int = 1
    metrics: dict[str, float] = field(default_factory=dict)  # further ones, by name


def fold(state: LogState, readings: Iterable[Reading]) -> LogState:
    """Return the state after these readings."""
    work = _Fold(state)
    for reading in readings:
        work.apply(reading)
    return work.state()


class _Fold:
    def __init__(self, state: LogState) -> None:
        self._tracks = list(state.tracks)
        self._readings = state.readings
        self._noted = state  # all but the tracks and the number of readings

    def state(self) -> LogState:
        return replace(self._noted, readings=self._readings, tracks=tuple(self._tracks))

    def apply(self, reading: Reading) -> None:
        if reading.role in _COUNTERS:
            self._readings += 1
            before = self._positions()
            self._count(reading)
            if self._noted.end_marker and self._positions() != before:
                self._note(end_marker="")  # it was the end of a part
        elif reading.role is Role.TOTAL:
            self._announce(reading)
        elif reading.role is Role.START and self._has_progress():
            self._new_run()
            self._note(totals={}, announced_steps=())
        elif reading.role is Role.END_MARKER:
            self._note(end_marker=reading.marker)
        elif reading.role is Role.TABLE:
            self._note(table=reading.marker)
        if reading.role is Role.METRICS and reading.rate_per_s is not None:
            self._note(rate_per_s=reading.rate_per_s, rate_unit=reading.noun or reading.unit)
        if reading.role is not Role.EVALUATION:
            self._measure(reading)

    def _note(self, **changes: object) -> None:
        self._noted = replace(self._noted, **changes)  # type: ignore[arg-type] # the names are those of fields

    def _measure(self, reading: Reading) -> None:
        found = {name: value for name in _OF_TRAINING if (value := getattr(reading, name)) is not None}
        if reading.metrics:
            metrics = dict(self._noted.metrics)
            for name, number in reading.metrics:
                if name in metrics or len(metrics) < _MAX_METRICS:
                    metrics[name] = number
            found["metrics"] = metrics
        if found:
            self._note(**found)

    def _announce(self, reading: Reading) -> None:
        """Note a total; after the first progress, only one that was not known."""
        has_begun, known = self._has_progress(), self._noted.totals
        announced = {reading.unit: reading.steps, "epoch": reading.epochs, "item": reading.items}
        new = {
            unit: value
            for unit, value in announced.items()
            if value is not None and value > 0 and not (has_begun and unit in known)
        }
        self._note(totals=known | new)
        if reading.steps and not has_begun:
            steps = dict.fromkeys((*self._noted.announced_steps, reading.steps))
            self._note(announced_steps=tuple(steps)[-_MAX_ANNOUNCED:])

    def _positions(self) -> list[tuple[float | None, float | None]]:
        return [(track.n, track.epoch) for track in self._tracks if track.role is Role.MAIN]

    def _has_progress(self) -> bool:
        return any(track.role is Role.MAIN and (track.n or track.epoch or 0) > 0 for track in self._tracks)

    def _new_run(self) -> None:
        self._tracks = []
        self._note(run=self._noted.run + 1, end_marker="")

    def _count(self, reading: Reading) -> None:
        same = [track for track in self._tracks if track.is_same_counter(reading)]
        overrun = [] if reading.total or same else [t for t in self._tracks if t.is_overrun_by(reading)]
        if overrun:
            self._replace(overrun[-1], moved(overrun[-1], reading, self._readings))
        elif not same:
            self._add(started(reading, self._readings))
        elif self._is_in_new_epoch(latest := max(same, key=LAST_SEEN), reading):
            self._replace(latest, next_round(latest, reading, self._readings))
        elif reading.epoch is not None or (reading.elapsed_s is None and not reading.format.is_bar):
            self._move_single(latest, reading)
        else:
            self._move_one_of(same, reading)

    def _move_single(self, track: Track, reading: Reading) -> None:
        """Apply a reading that names its epoch, or a line without a clock.

        Its counter has only one track: the lines of several processes look the same.
        """
        if is_stray(track, reading):
            return
        if not falls_back(track, reading):
            self._replace(track, moved(track, reading, self._readings))
        elif track.is_full or (reading.epoch is None and track.resets):
            self._replace(track, next_round(track, reading, self._readings))
        elif track.role is Role.MAIN and not track.fallback:
            ended = [each for each in self._tracks if track.is_epoch_line and _is_epoch_before(each, track)]
            self._new_run()
            self._tracks = [each._replace(rounds=0, round_units=0.0) for each in ended]
            self._add(restarted(track, reading, self._readings))
        else:
            self._replace(track, restarted(track, reading, self._readings))

    def _is_in_new_epoch(self, track: Track, reading: Reading) -> bool:
        """Whether a reading is not ahead of its counter, and an epoch began between them."""
        if reading.epoch is not None or reading.n is None or reading.n > track.reached:
            return False
        lines = [each for each in self._tracks if not (each.fallback or each.is_bar)]
        return any(each.new_epoch > track.last_seen for each in lines)

    def _move_one_of(self, same: list[Track], reading: Reading) -> None:
        """Move the bar of one process on, else begin a new round, run or process."""
        fitting = [track for track in same if track.continues(reading)]
        if fitting:
            track = max(_of_latest_run(fitting), key=lambda each: (each.reached, each.last_seen))
            after = moved(track, reading, self._readings)
            self._replace(track, after)
            if after.updates == _NEW_RUN_UPDATES:
                self._drop_earlier_runs(after, [each for each in same if each is not track])
            return
        latest = max(same, key=LAST_SEEN)
        # far from the start, another process may just be behind
        is_at_start = (reading.n or 0.0) <= _START_SHARE * (latest.total or latest.reached)
        if (latest.is_full or latest.resets) and is_at_start:
            self._replace(latest, next_round(latest, reading, self._readings))
        else:
            self._add(started(reading, self._readings))

    def _drop_earlier_runs(self, track: Track, others: list[Track]) -> None:
        earlier = [each for each in others if each.last_seen < track.first_seen]
        if earlier and track.role is Role.MAIN:
            self._note(run=self._noted.run + 1)
        self._tracks = [each for each in self._tracks if each not in earlier]

    def _replace(self, old: Track, new: Track) -> None:
        self._tracks = [new if each is old else each for each in self._tracks]

    def _add(self, track: Track) -> None:
        if len(self._tracks) >= _MAX_TRACKS:
            full = [each for each in self._tracks if each.is_full or each.role is not Role.MAIN]
            self._tracks.remove(min(full or self._tracks, key=LAST_SEEN))
        self._tracks.append(track)


def _is_epoch_before(track: Track, epoch_line: Track) -> bool:
    """Whether a bar has shown a whole epoch before a line of the same run about it."""
    is_first = track.first_seen < epoch_line.first_seen
    return track.is_bar and track.is_nearly_full and track.rounds > 0 and is_first


def _of_latest_run(tracks: list[Track]) -> list[Track]:
    """Return the tracks that were seen since the latest one started."""
    started = max((track.first_seen for track in tracks if track.updates >= _SURE_UPDATES), default=0)
    return [track for track in tracks if track.last_seen >= started]


@dataclass(frozen=True, slots=True)
class FileState:
    """How far one log is read."""

    path: str
    log: LogState = LogState()  # after the whole blocks before the offset
    shown: LogState = LogState()  # after all that was read
    offset: int = 0  # bytes; the block after it is read again
    size: int = 0  # bytes, when it was read
    inode: int | None = None
    problem: str = ""  # why it could not be read, as the end of a sentence


@dataclass(frozen=True, slots=True)
class ReaderState:
    """What is known of the logs of a job."""

    files: tuple[FileState, ...] = ()
    progress: Progress | None = None
