"""The readers, one line a tracker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.observe.trackers import inspect_ai, mlflow, tensorboard, trackio, wandb
from jobmon_core.observe.trackers.building import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.logs.tracker import Cursor, TrackerRun

    Reader = Callable[[str, Cursor | None, Limits], tuple[tuple[TrackerRun, ...], Cursor]]

READERS: dict[Tracker, Reader] = {
    Tracker.TENSORBOARD: tensorboard.look,
    Tracker.WANDB: wandb.look,
    Tracker.MLFLOW: mlflow.look,
    Tracker.TRACKIO: trackio.look,
    Tracker.INSPECT: inspect_ai.look,
}


def look(
    tracker: Tracker, place: str, before: Cursor | None = None, limits: Limits | None = None
) -> tuple[tuple[TrackerRun, ...], Cursor]:
    """Read what is new at ``place``, a file or a folder that a tracker writes; never raises.

    Args:
        tracker: whose files they are.
        place: the path.
        before: what the last look at this place returned; without it all is read, as far as the limits allow.
        limits: how much is read and kept.

    Returns:
        The runs, the latest first, as far as they are known by now; none if there are none or none can be
        read. And what the next look needs.
    """
    return READERS[tracker](place, before, limits or Limits())
