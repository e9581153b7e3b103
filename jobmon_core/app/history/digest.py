"""Collect the digest of a day or a week, and send it once."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.history.look import runs_like
from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import overview
from jobmon_core.app.live.job_view import job_view
from jobmon_core.app.live.patrol import in_bounded_time, read_memory, save_memory, send_lines
from jobmon_core.domain.channels import Level
from jobmon_core.domain.job.history.baseline import SLOWER, unusual
from jobmon_core.domain.job.history.nodes import WINDOW_S, suspect_nodes
from jobmon_core.domain.job.history.totals import RunTotals, Wanted
from jobmon_core.domain.many.patrol import Memory
from jobmon_core.store.history.index import open_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import StoredMessage
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.store.history.index import History

_MAX_NAMES = 50  # of which the latest run is compared: those that took most
_MAX_CAUGHT_UP_S = 31 * 86_400.0  # after a longer time, the next digest is about one day or week again
_IDLE = ("idle-allocation", "idle-gpu")  # verdicts about a running job
_FAILED = (StateGroup.FAILED, StateGroup.UNKNOWN)


class Digest(NamedTuple):
    """The runs that ended in a time, and what was forgotten."""

    since_s: float  # Unix seconds
    until_s: float
    totals: tuple[RunTotals, ...]  # by currency; empty if no run ended
    doubtful: int = 0  # of the successes
    most_lost: RunTotals | None = None  # by cause: the one that most was lost to
    most_idle: RunTotals | None = None  # by name: the one whose GPUs were idle most
    slower: tuple[str, ...] = ()  # a sentence about each name whose latest run was slower than usual
    suspects: tuple[str, ...] = ()  # a sentence about each node that kills runs
    failures: tuple[str, ...] = ()  # jobs that failed in this time, and that nobody acknowledged
    idle_jobs: tuple[str, ...] = ()  # jobs that run and leave what they hold idle


def last_period(now_s: float, *, weekly: bool) -> tuple[float, float]:
    """Return when the last whole day or week began and ended (Unix seconds): at midnight, here.

    A week begins on Monday. A day may have 23 or 25 hours.
    """
    end = date(*time.localtime(now_s)[:3])
    if weekly:
        end -= timedelta(days=end.weekday())
    return _midnight(end - timedelta(days=7 if weekly else 1)), _midnight(end)


def _midnight(day: date) -> float:
    return time.mktime(day.timetuple())


def due_period(ctx: Context, channel: str, *, weekly: bool) -> tuple[float, float] | None:
    """Return the time that the next digest for a channel is about; None if all was told.

    It begins where the last digest ended, so that nothing is lost while this machine is down.
    """
    since_s, until_s = last_period(ctx.clock.now(), weekly=weekly)
    told_s, now_s = read_memory(ctx, _reader(channel, weekly=weekly))[0].at_s, ctx.clock.now()
    if now_s - _MAX_CAUGHT_UP_S < told_s <= now_s:  # else it is the first for long, or the clock was wrong
        since_s = told_s
    return (since_s, until_s) if since_s < until_s else None


def collect_digest(ctx: Context, since_s: float, until_s: float) -> Digest:
    """Return what ended in this time, and what was forgotten.

    Raises:
        StorageFailed: the history cannot be read.
        PatrolFailed: it took over a minute.
    """
    return in_bounded_time(Digest, lambda: _collect(ctx, since_s, until_s), "digest")


def _collect(ctx: Context, since_s: float, until_s: float) -> Digest:
    wanted = Wanted(since_s=since_s, until_s=until_s)
    with open_history(ctx.home.history) as history:
        totals, causes, names = (history.totals(wanted, by) for by in ("", "cause", "name"))
        runs = history.records(wanted)
        slower = tuple(_slower(history, runs))
        suspects = suspect_nodes(history.records(wanted._replace(since_s=until_s - WINDOW_S)), until_s)
    known = overview(ctx)
    return Digest(
        since_s,
        until_s,
        tuple(totals),
        sum(run.doubtful for run in runs),
        max(causes, key=lambda row: (row.lost_gpu_hours, row.lost_cpu_hours), default=None),
        max(names, key=lambda row: row.idle_gpu_hours, default=None),
        slower,
        tuple(f"{each.sentence}: `{each.option}`" for each in suspects),
        tuple(map(_name, _failures(ctx, known, since_s, until_s))),
        tuple(map(_name, _idle(ctx, known))),
    )


def _slower(history: History, runs: Sequence[HistoryRecord]) -> Iterator[str]:
    latest: dict[str, HistoryRecord] = {}
    for run in runs:  # the last ended first
        if run.step_s is not None:
            latest.setdefault(run.label, run)
    for name, run in sorted(latest.items(), key=lambda each: -each[1].run_s)[:_MAX_NAMES]:
        for finding in unusual(run, runs_like(history, name, "", run.ended_s), str(run.ref)):
            if finding.id == SLOWER:
                yield f"{name} ({run.ref}): {finding.text.partition(': ')[2] or finding.text}"


def _failures(ctx: Context, known: Overview, since_s: float, until_s: float) -> Iterator[WatchedJob]:
    """Yield the jobs that failed in this time without a further attempt, and that nobody acknowledged."""
    acks = ctx.alerts.user().acks
    for job in (each.job for each in known.jobs):
        is_in_time = since_s <= (job.concluded_s or 0.0) < until_s
        if is_in_time and group_of(job) in _FAILED and job.id not in acks and not known.is_followed(job):
            yield job


def _idle(ctx: Context, known: Overview) -> Iterator[WatchedJob]:
    for status in known.jobs:
        if not status.job.closed and status.job.is_running:
            live = job_view(ctx, known, status).tasks
            if any(event.subject in _IDLE for task in live for event in task.ongoing):
                yield status.job


def _name(job: WatchedJob) -> str:
    return f"{job.ref} {job.label}".rstrip()


def send_digest(
    ctx: Context, channel: str, digest: Digest, lines: Iterable[str], *, weekly: bool
) -> StoredMessage:
    """Send the lines of a digest, the first as the title; return what became of the message.

    The id of the message names the end of its time, so two processes send one.

    Raises:
        StorageFailed: it was not saved; or it was, and is sent, but that could not be noted.
    """
    reader = _reader(channel, weekly=weekly)
    message_id = f"{reader.replace(' ', '/')}/{int(digest.until_s)}"
    stored = send_lines(ctx, channel, message_id, Level.INFO, [*lines])
    save_memory(ctx, reader, Memory(digest.until_s))
    return stored


def _reader(channel: str, *, weekly: bool) -> str:
    """Return under which name the last digest is remembered; no channel has a space in its name."""
    return f"digest {'weekly' if weekly else 'daily'} {channel}"
