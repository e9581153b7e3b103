"""Rule about the room on the disks that a task uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.telemetry.model import Disk
from jobmon_core.domain.node.triage.situation import NodeView, Situation

_HORIZON_S, _URGENT_S = 86_400.0, 3600.0
_GB_BYTES = 2**30
_SMALL_INODES = 100_000  # a large disk with more free is not full
_LONG = 2  # times `must_last_s`: so much of the past tells how fast a disk fills
_POINTS, _PARTS = 6, 3  # least number of samples in that time, and the parts into which it is split
_STEADY = 0.3  # of the average speed: a disk that fills steadily fills at least this fast in each part
_PERCENT = 100.0


class _Room(NamedTuple):
    """What is left on a disk."""

    path: str
    text: str
    is_low: bool  # below the threshold
    full_in_s: float | None  # at the speed at which it shrinks


def disk_full(situation: Situation) -> Event | None:
    """Find a disk that is nearly full, or will be full within a day and before the time limit of the task."""
    rooms = [
        room
        for node in situation.nodes
        for disk in node.latest.disks
        for room in _left(situation, node, disk)
    ]
    limit_s = situation.limit_s
    horizon_s = _HORIZON_S if limit_s is None else min(_HORIZON_S, limit_s - situation.now_s)
    found = [
        room for room in rooms if room.is_low or (room.full_in_s is not None and room.full_in_s <= horizon_s)
    ]
    found = found or _named_folders(situation)
    if not found:
        return None
    worst = min(
        found, key=lambda room: (not room.is_low, _HORIZON_S if room.full_in_s is None else room.full_in_s)
    )
    when = "" if worst.full_in_s is None else f", full in {duration(worst.full_in_s)}"
    return situation.finding(
        "disk-full",
        "A disk is nearly full",
        f"{worst.text} on {worst.path}{when}",
        tuple(dict.fromkeys(f"{room.path}: {room.text}" for room in found)),
        "Remove old checkpoints or other files there, or write elsewhere, before a save fails.",
        is_critical=worst.is_low or (worst.full_in_s is not None and worst.full_in_s <= _URGENT_S),
    )


def _left(situation: Situation, node: NodeView, disk: Disk) -> Iterator[_Room]:
    """Yield what is left of the bytes and of the inodes of a disk, as an agent measures them."""
    series = [_series(node, disk.path, lambda each: each.free)]
    series.append(_series(node, disk.path, lambda each: each.free_inodes) if disk.inodes else [])
    figures = _figures(situation, disk.free, disk.total, disk.free_inodes, disk.inodes)
    for (text, is_low), points in zip(figures, series, strict=True):
        yield _Room(disk.path, text, is_low, _full_in_s(situation, points))


def _figures(
    situation: Situation, free_bytes: int, total_bytes: int, free_inodes: int, inodes: int
) -> Iterator[tuple[str, bool]]:
    """Yield a text about the bytes and one about the inodes, each with whether too few are left."""
    thresholds = situation.thresholds
    bytes_text = f"{size(free_bytes)} ({{:.1f}}%) free"
    inodes_text = f"{count(free_inodes, 'inode')} ({{:.1f}}%) free for further files"
    kinds = (
        (free_bytes, total_bytes, thresholds.disk_free_gb * _GB_BYTES, bytes_text),
        (free_inodes, inodes, _SMALL_INODES, inodes_text),
    )
    for free, total, small, text in kinds:
        percent = _PERCENT * free / total if total else _PERCENT
        yield text.format(percent), percent < thresholds.disk_free_percent and free < small


def _series(node: NodeView, path: str, figure: Callable[[Disk], int]) -> list[tuple[float, int]]:
    """Return how a figure of a disk changed, oldest first."""
    return [
        (sample.at_s, figure(disk)) for sample in node.samples for disk in sample.disks if disk.path == path
    ]


def _full_in_s(situation: Situation, series: Sequence[tuple[float, int]]) -> float | None:
    """Return in how many seconds a disk is full; None unless it fills steadily, not by single saves."""
    seconds = _LONG * situation.thresholds.must_last_s
    points = [(at_s, left) for at_s, left in series if at_s >= situation.now_s - seconds]
    if len(points) < _POINTS or points[-1][0] - points[0][0] < seconds / 2:
        return None
    per_s = (points[0][1] - points[-1][1]) / (points[-1][0] - points[0][0])
    bounds = [index * (len(points) - 1) // _PARTS for index in range(_PARTS + 1)]
    parts = [
        (points[begin][1] - points[end][1]) / (points[end][0] - points[begin][0])
        for begin, end in pairwise(bounds)
        if points[end][0] > points[begin][0]
    ]
    if per_s <= 0 or len(parts) < _PARTS or min(parts) < _STEADY * per_s:
        return None
    return points[-1][1] / per_s


def _named_folders(situation: Situation) -> list[_Room]:
    """Return the disk of the outputs or checkpoints if it is nearly full; this needs no agent."""
    disk, artifacts = situation.artifacts.disk, situation.artifacts
    folder = (artifacts.outputs and artifacts.outputs.folder) or (
        artifacts.checkpoints and artifacts.checkpoints.folder
    )
    if disk is None or not folder:
        return []
    figures = _figures(situation, disk.free_bytes, disk.total_bytes, disk.free_inodes, disk.total_inodes)
    return [_Room(folder, text, is_low=True, full_in_s=None) for text, is_low in figures if is_low]
