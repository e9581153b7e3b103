"""Add runs that jobmon did not watch to the history, from accounting."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import SchedulerMissing, SchedulerUnavailable
from jobmon_core.domain.job.history.record import record_of_row
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Disabled, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.slurm.rows import JobRow

WEEK_S = 7 * 86_400.0
_PAUSE_S = 10.0  # between two queries: others need the database, too


class Week(NamedTuple):
    """How many runs accounting has of a week; the history has the others already."""

    until_s: float  # Unix seconds
    runs: int
    new: int
    completed: int  # of which jobmon did not know what they held


def backfill(ctx: Context, since_s: float) -> Iterator[Week]:
    """Add the runs that ended since then (Unix seconds), with one query for each week; yield each week.

    They get the prices of today. Our own runs of which accounting was late get what it has of them now.

    Raises:
        ConfigInvalid: the configuration is not valid.
        SchedulerMissing: there is no accounting.
        SchedulerUnavailable: accounting did not answer; earlier weeks were added.
        StorageFailed: the history cannot be read or written.
    """
    now_s, prices = ctx.clock.now(), ctx.configuration().prices
    with open_history(ctx.home.history) as history:
        keys = history.keys(since_s)
        own = history.records(Wanted(since_s=since_s))
    incomplete = {each.key: each for each in own if each.lacks_hours}
    while since_s < now_s:
        until_s = min(since_s + WEEK_S, now_s)
        found = {each.key: each for each in _ended(ctx, since_s, until_s, prices)}
        new = [each for key, each in found.items() if key not in keys]
        late = [key for key, each in found.items() if key in incomplete and each.cpu_hours]
        if new or late:
            completed = [incomplete[key].completed(found[key], ctx.clock.now()) for key in late]
            append(ctx.home.history, [*new, *completed], os.uname().nodename, now_s)
        keys |= found.keys()
        yield Week(until_s, len(found), len(new), len(late))
        since_s = until_s
        if since_s < now_s:
            ctx.clock.wait(_PAUSE_S)


def _ended(ctx: Context, since_s: float, until_s: float, prices: Prices | None) -> Iterator[HistoryRecord]:
    for row in _rows(since_s, until_s):
        has_ended = row.state is JobState.REQUEUED or not row.state.is_alive  # the former is an earlier run
        if has_ended and row.end_s is not None and since_s <= row.end_s < until_s:
            for ref in _refs(row):
                record = record_of_row(replace(row, ref=ref), ctx.clock.now(), prices)
                if record:
                    yield record


def _refs(row: JobRow) -> list[JobRef]:
    """Return whom a row is about: the tasks of an array that never started share one."""
    if row.pending_indices is None:
        return [row.ref]
    return [JobRef(row.ref.job_id, task) for task in row.pending_indices]


def _rows(since_s: float, until_s: float) -> list[JobRow]:
    ask = find_backend(DEFAULT_BACKEND).past_runs
    answer = ask(Runner(), "", str(os.getuid()), since_s, until_s) if ask else Disabled()
    if isinstance(answer, Disabled):
        raise SchedulerMissing("this cluster has no accounting, so it has no runs for the history")
    if isinstance(answer, Unreachable):
        raise SchedulerUnavailable(f"accounting did not answer: {answer.why}; what was found before is kept")
    return answer
