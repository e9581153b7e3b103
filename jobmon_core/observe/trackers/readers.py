"""The readers, one line a tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.observe.trackers import inspect_ai, mlflow, tensorboard, trackio, wandb
from jobmon_core.observe.trackers.files import Look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.domain.logs.tracker import TrackerRun

READERS: dict[Tracker, Callable[[Look], Iterator[TrackerRun]]] = {
    Tracker.TENSORBOARD: tensorboard.look,
    Tracker.WANDB: wandb.look,
    Tracker.MLFLOW: mlflow.look,
    Tracker.TRACKIO: trackio.look,
    Tracker.INSPECT: inspect_ai.look,
}


def look(
    tracker: Tracker, place: str, before: tuple[TrackerRun, ...] = (), chosen: tuple[str, ...] = ()
) -> tuple[TrackerRun, ...]:
    """Return the runs at ``place``, a path, the latest first; never raises.

    ``before`` is what the last look at this place returned: only what is new is read. Without it all is, up
    to 4 MiB. ``chosen`` are names of scalars that are kept in any case.
    """
    return tuple(READERS[tracker](Look(tracker, place, before, chosen)))
