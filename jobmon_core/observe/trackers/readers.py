"""The readers, one line a tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.observe.trackers import inspect_ai, mlflow, tensorboard, trackio, wandb
from jobmon_core.observe.trackers.building import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.trackers.files import Found

    Reader = Callable[[str, Cursor | None, Limits], Found]

READERS: dict[Tracker, Reader] = {
    Tracker.TENSORBOARD: tensorboard.look,
    Tracker.WANDB: wandb.look,
    Tracker.MLFLOW: mlflow.look,
    Tracker.TRACKIO: trackio.look,
    Tracker.INSPECT: inspect_ai.look,
}


def look(tracker: Tracker, place: str, before: Cursor | None = None, limits: Limits | None = None) -> Found:
    """Return the runs at ``place``, a path, the latest first, and what the next look needs; never raises.

    ``before`` is what the last look at this place returned; without it all is read, up to ``limits``.
    """
    return READERS[tracker](place, before, limits or Limits())
