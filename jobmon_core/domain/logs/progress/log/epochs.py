"""How many epochs there are by the lines of a log, and whether the first one is 0."""

from __future__ import annotations

from jobmon_core.domain.logs.progress.log.fold import LogState
from jobmon_core.domain.logs.progress.log.tracks import Track

# a counter from 0 that prints one less than a multiple of this, as in ``Epoch 0/99``, prints its last epoch
_ROUND_NUMBER = 5
# a log that begins with a later epoch counts from 0, too, if it prints one less than a multiple of this, as
# in ``Epoch 266/499``
_VERY_ROUND_NUMBER = 50


def counts_from_zero(track: Track) -> bool:
    """Whether the first epoch is 0; if the log begins later, guess it from the printed last one, e.g. 499."""
    if track.zero_based or track.first_epoch == 0 or track.epochs is None:
        return track.zero_based or track.first_epoch == 0
    return (track.first_epoch or 0) > 1 and (track.epochs + 1) % _VERY_ROUND_NUMBER == 0


def epochs_of(track: Track, state: LogState, *, is_zero_based: bool) -> float | None:
    """Return the number of epochs by this counter, else by other lines about epochs, else as announced.

    A counter from 0 may print the number of the last epoch instead, one less. None if neither this
    counter nor another line names one, or if the counter has exceeded the one that another line names.
    """
    if track.epochs is None:
        in_lines = [each.epochs for each in state.tracks if each.is_epoch_line and each.epochs is not None]
        announced = in_lines[-1] if in_lines else state.totals.get("epoch")
        return announced if announced and (track.epoch or 0.0) <= announced else None
    printed = track.epochs
    looks_like_last = (printed + 1) % _ROUND_NUMBER == 0
    if is_zero_based and (track.inclusive or looks_like_last or (track.epoch or 0.0) >= printed):
        return printed + 1
    return printed
