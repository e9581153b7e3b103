"""Rates from counters that only grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.measuring.processes import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobmon_core.domain.telemetry.measuring.processes import Process

Key = tuple[int, int]


def cpu_seconds(before: Mapping[Key, Usage], now: Iterable[Process], new_since_ticks: int) -> float:
    """Return the CPU time that processes used since an earlier look, with children that ended meanwhile.

    When a child ends, its parent's counter of children grows by all that the child has used, and the child's
    own counter disappears: the change of the sum of both is what it used since the look. If the parent is not
    there to count it, the sum falls; what the others used is then the better figure. A process that started
    before ``new_since_ticks`` (since boot) and was not looked at contributes nothing.
    """
    processes = tuple(now)
    own = total = 0.0
    for process in processes:
        usage = process.usage
        is_new = process.start_ticks >= new_since_ticks
        earlier = before.get(process.key, Usage() if is_new else usage)
        own += usage.own_s - earlier.own_s
        total += usage.own_s + usage.children_s - earlier.own_s - earlier.children_s
    present = {process.key for process in processes}
    total -= sum(usage.own_s + usage.children_s for key, usage in before.items() if key not in present)
    return max(own, total, 0.0)


def bytes_moved(
    before: Mapping[Key, Usage], now: Iterable[Process], new_since_ticks: int
) -> tuple[int | None, int | None]:
    """Return the bytes that processes read and wrote since an earlier look; None if the kernel hides them.

    The counters of a process include those of its ended children, as with `cpu_seconds`.
    """
    processes = tuple(now)
    present = {process.key for process in processes}
    gone = [usage for key, usage in before.items() if key not in present]
    pairs = [
        (process.usage, before.get(process.key, Usage(read=0, written=0) if is_new else process.usage))
        for process in processes
        for is_new in (process.start_ticks >= new_since_ticks,)
    ]
    if all(usage.read is None for usage, _ in pairs):
        return None, None
    read = sum((usage.read or 0) - (earlier.read or 0) for usage, earlier in pairs)
    written = sum((usage.written or 0) - (earlier.written or 0) for usage, earlier in pairs)
    read -= sum(usage.read or 0 for usage in gone)
    written -= sum(usage.written or 0 for usage in gone)
    return max(read, 0), max(written, 0)
