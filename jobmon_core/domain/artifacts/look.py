"""What one more look at the folders of a job adds to what was known of its outputs and checkpoints."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from jobmon_core.domain.artifacts.model import Checkpoints, Growth, ListedFile, Listing, OutputFile, Outputs

_MAX_FILES = 64  # output files whose sizes are remembered: enough for one per worker
_MAX_SAVES = 20  # the latest files of checkpoints, from whose times the interval is computed
_MIN_INTERVALS = 2
_SAME_SAVE = 0.1  # files written within this part of the longest pause belong to one checkpoint
_SETTLED_S = 5.0  # a program may still be writing a file that was modified less long ago


def outputs_after(before: Outputs | None, listing: Listing, now_s: float, min_per_s: float = 0.0) -> Outputs:
    """Return the outputs as of ``now_s``, given those of the previous look, if any.

    Outputs that grow more slowly than ``min_per_s`` (bytes per second) count as idle.
    """
    if before and before.folder != listing.folder:  # the folder of another run
        before = None
    known = {file.name: file.growth for file in before.files} if before else {}
    latest = sorted(listing.files, key=lambda file: (-file.modified_s, file.name))
    modified_s = latest[0].modified_s if latest else 0.0
    if listing.is_partial:  # the latest may be among those that were not looked at
        modified_s = max(modified_s, listing.changed_s)
    size_bytes = sum(file.size_bytes for file in latest) if listing.size_bytes is None else listing.size_bytes
    whole = ListedFile("", size_bytes, modified_s)
    return Outputs(
        listing.folder,
        len(latest) if listing.count is None else listing.count,
        _grown(before.total if before else None, whole, now_s),
        tuple(
            OutputFile(each.name, _grown(known.get(each.name), each, now_s)) for each in latest[:_MAX_FILES]
        ),
        listing.is_partial,
        listing.problem,
        fast_enough=_last_fast_growth(before.fast_enough if before else None, whole, now_s, min_per_s),
    )


def _last_fast_growth(
    before: Growth | None, whole: ListedFile, now_s: float, min_per_s: float
) -> Growth | None:
    """Return the total when it last grew as demanded, shrank or was first seen; None without a demand."""
    if not min_per_s:
        return None
    grown = whole.size_bytes - before.size_bytes if before else 0
    if before and 0 <= grown < max(1.0, min_per_s * (now_s - before.seen_s)):
        return before
    return Growth(whole.size_bytes, whole.modified_s, now_s)


def _grown(before: Growth | None, file: ListedFile, now_s: float) -> Growth:
    """Return a size, and how fast it grew from the previous change to the latest.

    Many programs write in bursts, so a look that finds the same size does not change the speed.
    """
    if before is None or file.size_bytes < before.size_bytes or now_s <= before.seen_s:
        return Growth(file.size_bytes, file.modified_s, now_s)
    if file.size_bytes == before.size_bytes:
        return replace(before, modified_s=file.modified_s)
    rate_per_s = (file.size_bytes - before.size_bytes) / (now_s - before.seen_s)
    return Growth(file.size_bytes, file.modified_s, now_s, rate_per_s)


def checkpoints_after(
    before: Checkpoints | None, listing: Listing, started_s: float, now_s: float, *, ended: bool = False
) -> tuple[Checkpoints, ListedFile | None]:
    """Return the checkpoints as of ``now_s``, and the latest saved one if it is new since the previous look.

    One counts as saved if nothing has been written to it for a few seconds, or if the job has ``ended``.
    Those from before ``started_s`` say nothing about the interval.
    """
    files = sorted(listing.files, key=lambda file: (file.modified_s, file.name))
    saved = [file for file in files if ended or now_s - file.modified_s >= _SETTLED_S][-1:]
    reported_s = before.reported_s if before else started_s
    new = next((file for file in saved if file.modified_s > reported_s), None)
    found = Checkpoints(
        listing.folder,
        len(files),
        next(reversed(files), None),
        _interval_s([file.modified_s for file in files if file.modified_s >= started_s][-_MAX_SAVES:]),
        new.modified_s if new else reported_s,
        listing.is_partial,
        listing.problem,
    )
    return found, new


def _interval_s(times_s: list[float]) -> float | None:
    pauses = [later - earlier for earlier, later in pairwise(times_s)]
    intervals = [pause for pause in pauses if pause > _SAME_SAVE * max(pauses)]
    if len(intervals) >= _MIN_INTERVALS:
        return sorted(intervals)[len(intervals) // 2]
    return None
