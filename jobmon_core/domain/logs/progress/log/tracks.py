"""Counters in a log: progress bars, and lines that count epochs, steps or items.

A log may show several: the job, evaluations, a bar for each epoch or process. Each reading moves one on.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from jobmon_core.domain.logs.progress.log.formats import Reading, Role

_JITTER = 0.8  # a counter that falls back only to this share goes on: other processes print late
_OVERRUN = 0.98  # tqdm shows no total once a bar exceeds it; just before, it was at least this full
_CLOCK_TOLERANCE_S = 1.0  # bars print whole seconds
_NEARLY = 0.9  # a bar that is removed need not show its last updates
_STEADY_UPDATES = 8  # numbers in any order seldom rise so often in a row
# a log that begins with a later epoch counts from 0 if the number after the last, as in ``Epoch 266/499``, is
# a multiple of this
_VERY_ROUND_NUMBER = 50
_HALF = 0.5  # of its total: a counter below it is far from its end
_LATEST = ("n", "epoch", "epochs", "at_s", "elapsed_s", "rate_per_s")  # of a reading that has them
_SURELY_CARRIED = 3  # new epochs prove that a count with a total goes on over them


class Track(NamedTuple):
    """One counter; a named tuple, because each reading makes a new one."""

    format: str
    label: str = ""
    role: Role = Role.MAIN
    unit: str = "step"
    is_bar: bool = False
    resets: bool = False
    zero_based: bool = False
    inclusive: bool = False
    whole_eta: bool = False
    fallback: bool = False
    steady: bool = False
    n: float | None = None  # within the epoch, if the log shows that
    total: float | None = None
    first_n: float | None = None
    epoch: float | None = None
    epochs: float | None = None
    first_epoch: float | None = None
    units_per_epoch: float | None = None  # the most in an epoch that has ended
    carried: int = 0  # new epochs in which the count within the epoch went on; below 0 if it fell back
    rounds: int = 0  # how often it started again, e.g. in each epoch
    round_units: float = 0.0  # of the rounds that have ended
    last_round: int = 0  # the last reading of the latest such round
    noun: str = ""  # the word for the unit
    first_at_s: float | None = None  # by the time stamps of its lines
    at_s: float | None = None
    elapsed_s: float | None = None
    remaining_s: float | None = None
    rate_per_s: float | None = None
    first_seen: int = 0  # number of the reading in the log
    last_seen: int = 0
    last_change: int = 0  # likewise, with another count; 0 if an older jobmon read it
    new_epoch: int = 0  # likewise, of another epoch
    updates: int = 0
    has_fallen: bool = False  # it started again before it had ever risen

    @property
    def reached(self) -> float:
        """Its count, 0 without any."""
        return self.n or 0.0

    @property
    def is_epoch_line(self) -> bool:
        """Whether it counts epochs only."""
        return self.n is None

    @property
    def is_full(self) -> bool:
        """Whether it has reached its total; lines about epochs show only the start of the last one."""
        return self.n is not None and self.total is not None and self.n >= self.total

    @property
    def is_finished(self) -> bool:
        """Whether it has reached its total, in the last epoch if there are several."""
        return self.is_full and not (self.epochs and (self.epoch or 0.0) < self.epochs)

    @property
    def is_nearly_full(self) -> bool:
        """Whether it may have reached its total since its latest reading."""
        return self.n is not None and self.total is not None and self.n >= _NEARLY * self.total

    @property
    def may_count(self) -> bool:
        """Whether its numbers look like a count; ever smaller ones may be what is left."""
        if self.steady:
            return self.updates >= _STEADY_UPDATES and self.reached > (self.first_n or 0.0)
        is_plain = not self.is_bar and self.epoch is None and self.rounds == 0
        return not (is_plain and self.reached < (self.first_n or 0.0) + self.has_fallen)

    @property
    def counts_from_zero(self) -> bool:
        """Whether its first epoch is 0; if the log begins later, by the last one, e.g. 499."""
        if self.zero_based or self.first_epoch == 0 or self.epochs is None:
            return self.zero_based or self.first_epoch == 0
        return (self.first_epoch or 0) > 1 and (self.epochs + 1) % _VERY_ROUND_NUMBER == 0

    @property
    def counts_on(self) -> bool:
        """Whether the count goes on over the epochs."""
        return self.carried >= (1 if self.total is None else _SURELY_CARRIED)

    @property
    def pace_per_s(self) -> float | None:
        """Its units per second, by the time stamps of its lines."""
        span_s = (self.at_s or 0.0) - (self.first_at_s or self.at_s or 0.0)
        if span_s <= 0:
            return None
        epochs = 0.0 if self.counts_on else (self.epoch or 0.0) - (self.first_epoch or 0.0)
        if self.n is None:
            return epochs / span_s
        done = self.round_units + epochs * (self.total or self.units_per_epoch or 0.0)
        return max(0.0, done + self.n - (self.first_n or 0.0)) / span_s

    def continues(self, reading: Reading) -> bool:
        """Whether the reading can be of the same bar in the same process."""
        if self.n is None or reading.n is None:
            return False
        clocks = self.elapsed_s, reading.elapsed_s
        in_order = None in clocks or (clocks[0] or 0.0) <= (clocks[1] or 0.0) + _CLOCK_TOLERANCE_S
        return self.n <= reading.n and in_order

    def is_same_counter(self, reading: Reading) -> bool:
        """Whether the reading is of this counter, in any round or process."""
        if self.format != counter_of(reading) or self.role != reading.role:
            return False
        if not self.is_bar:
            # one format reads counts of several nouns; not every line of a counter names its noun
            is_same_noun = self.unit == reading.unit or self.total == reading.total is not None
            return self.label == reading.label and is_same_noun
        if self.epoch is not None or reading.epoch is not None:
            return self.label == reading.label and None not in (self.epoch, reading.epoch)
        # a bar may get its name after its first update, and processes cut each other's text off
        is_alike = self.label.endswith(reading.label) or reading.label.endswith(self.label)
        return self.total == reading.total and is_alike

    def is_overrun_by(self, reading: Reading) -> bool:
        """Whether the reading, without a total, shows this bar at or beyond its total."""
        return (
            self.is_bar
            and reading.format.is_bar
            and self.label == reading.label
            and self.n is not None
            and self.total is not None
            and self.total <= (reading.n or 0.0)
            and self.n >= _OVERRUN * self.total
            and self.continues(reading)
        )


FIRST_SEEN, LAST_SEEN = attrgetter("first_seen"), attrgetter("last_seen")  # to sort tracks by


def counter_of(reading: Reading) -> str:
    """Return the id of its counter."""
    return reading.format.counter or reading.format.id


def started(reading: Reading, number: int) -> Track:
    """Return the track that begins with this reading."""
    origin = reading.format
    track = Track(
        format=counter_of(reading),
        label=reading.label,
        role=reading.role,
        unit=reading.unit,
        is_bar=origin.is_bar,
        resets=origin.resets,
        zero_based=origin.zero_based,
        inclusive=origin.inclusive,
        whole_eta=origin.whole_eta,
        fallback=origin.fallback,
        steady=origin.steady,
        first_n=reading.n,
        first_epoch=reading.epoch,
        first_at_s=reading.at_s,
        first_seen=number,
    )
    return moved(track, reading, number)


def restarted(track: Track, reading: Reading, number: int) -> Track:
    """Return the track that begins with this reading in place of one that is ahead."""
    return started(reading, number)._replace(has_fallen=track.reached <= (track.first_n or 0.0))


def moved(track: Track, reading: Reading, number: int) -> Track:
    """Return the track after a reading that continues it."""
    latest: dict[str, Any] = {
        name: value for name in _LATEST if (value := getattr(reading, name)) is not None
    }
    per_epoch, carried = track.units_per_epoch, track.carried
    if track.n is not None and None not in (track.epoch, reading.epoch) and reading.epoch != track.epoch:
        per_epoch = max(per_epoch or 0.0, track.n)
        carried = track.carried if reading.n is None else _carried(track, reading.n)
    return track._replace(
        label=max(track.label, reading.label, key=len),
        total=_total(track, reading),
        unit=track.unit if reading.unit == "step" else reading.unit,
        units_per_epoch=per_epoch,
        carried=carried,
        noun=reading.noun or track.noun,
        remaining_s=reading.remaining_s,
        last_seen=number,
        last_change=track.last_change if reading.n in (None, track.n) else number,
        new_epoch=track.new_epoch if reading.epoch in (None, track.epoch) else number,
        updates=track.updates + 1,
        **latest,
    )


def _total(track: Track, reading: Reading) -> float | None:
    """Return the total, unless it only grows with the count, as in ``4/4 trials``, ``5/5 trials``."""
    if reading.total is None:
        return track.total
    has_no_total = track.total is None and track.updates > 0
    was_full = track.total is not None and track.n == track.total < reading.total
    only_grows = reading.n == reading.total and not track.is_bar and (has_no_total or was_full)
    return None if only_grows else reading.total


def _carried(track: Track, n: float) -> int:
    before, first = track.reached, track.first_n or 0.0
    if track.carried < 0 or n <= before:
        return -1
    # an epoch that ended far below the total shows that the total is not that of an epoch
    was_far = 0 < 2 * first <= before < _HALF * (track.total or 0.0)
    return track.carried + (_SURELY_CARRIED if was_far else 1)


def next_round(track: Track, reading: Reading, number: int) -> Track:
    """Return the track after a reading that starts it again."""
    full = track._replace(
        rounds=track.rounds + 1,
        round_units=track.round_units + (track.total or track.reached),
        last_round=track.last_seen,
        n=None,
        elapsed_s=None,
    )
    return moved(full, reading, number)


def falls_back(track: Track, reading: Reading) -> bool:
    """Whether the reading starts the counter again, and is not just late from another process."""
    if reading.epoch is not None and track.epoch is not None:
        if reading.epoch >= track.epoch:
            return False
        late = reading.n is not None and reading.n > track.reached and track.epoch - reading.epoch <= 1
        restarts = reading.epoch <= max(1.0, track.first_epoch or 0.0) or (
            None not in (reading.epochs, track.epochs) and reading.epochs != track.epochs
        )
        return not late and (restarts or reading.epoch < _JITTER * track.epoch)
    if reading.n is not None and track.n is not None:
        return reading.n < (1.0 if track.steady else _JITTER) * track.n
    return False


def is_stray(track: Track, reading: Reading) -> bool:
    """Whether a line names an earlier epoch, e.g. the best one, without starting again."""
    if reading.n is not None or reading.epoch is None or track.epoch is None:
        return False
    return reading.epoch < track.epoch and not falls_back(track, reading)
