"""The screen of ``jobmon status``: the table, the numbers of jobs, and what the user should know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style, one_line
from jobmon.views.delivery import undelivered
from jobmon.views.model import age, cause, clock, doubt, elapsed, short_state, state
from jobmon.views.table import Cell, Shrink, table_lines
from jobmon_core.app.jobs.array_summary import failed_count
from jobmon_core.app.jobs.selection import Group, counts, group_of
from jobmon_core.domain.humanize import count
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.app.jobs.selection import Selected
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

_HEADERS = ("JOB", "NAME", "STATE", "ELAPSED/LIMIT", "OUTCOME/CAUSE", "MONITOR")
_NAME, _STATE, _CAUSE, _MONITOR = 1, 2, 4, 5
_MAX_NAME = 40
_STEPS = (
    Shrink(_NAME, 24),
    Shrink(_CAUSE, 28),
    Shrink(_NAME, 14),
    Shrink(_STATE, 18),
    Shrink(_CAUSE, 20),
    Shrink(_MONITOR, 12),
    Shrink(_NAME, 10),
    Shrink(_CAUSE, 18),
    Shrink(_NAME, 8),
    Shrink(_CAUSE, 16),
    Shrink(_STATE, 10),
    Shrink(_NAME, 6),
    Shrink(_CAUSE, 10),
)
_MIN_TABLE = 76  # columns; a narrower terminal gets a few lines per job
_LONG_STATE = 24
_IDS_SHOWN = 5
_STYLES = {
    Group.RUNNING: Style.ACTIVE,
    Group.COMPLETED: Style.GOOD,
    Group.FAILED: Style.BAD,
    Group.UNKNOWN: Style.ATTENTION,
    Group.CANCELLED: Style.DIM,
    Group.UNWATCHED: Style.DIM,
}


def status_lines(selected: Selected, known: Overview, now_s: float, console: Console) -> Iterator[str]:
    """Yield the lines of ``jobmon status``."""
    if not known.jobs:
        yield from console.prose(
            "no jobs are being watched; start with `jobmon submit SCRIPT` or `jobmon watch JOBID`"
        )
        return
    if selected.jobs:
        rows = [_row(each, known, now_s, console) for each in selected.jobs]
        if console.width and console.width < _MIN_TABLE:
            yield from _stacked(rows, console)
        else:
            yield from table_lines(_HEADERS, rows, console, _STEPS)
        yield ""
    yield from console.prose(_counts_line(selected))
    for ids, text in _grouped_notes(selected.jobs, now_s):
        for line in console.prose(f"{_id_list(ids)}: {text}"):
            yield console.styled(line, Style.ATTENTION)


def _row(status: JobStatus, known: Overview, now_s: float, console: Console) -> list[Cell]:
    job = status.job
    return [
        Cell(str(job.ref)),
        Cell(_name(job, console)),
        Cell(one_line(_state(job, console)), _style(job)),
        Cell(elapsed(job, now_s)),
        Cell(one_line(_outcome(job, known.age_s(job, now_s)))),
        Cell(health_text(status), Style.BAD if status.health in (Health.DEAD, Health.STALE) else Style.PLAIN),
    ]


def _style(job: WatchedJob) -> Style:
    if job.outcome is None and failed_count(job):
        return Style.BAD
    return Style.ATTENTION if doubt(job) else _STYLES.get(group_of(job), Style.PLAIN)


def _name(job: WatchedJob, console: Console) -> str:
    from jobmon.views.text_width import truncated

    name = one_line(job.name)
    return truncated(name, _MAX_NAME) if console.width else name


def _state(job: WatchedJob, console: Console) -> str:
    """Return the state with the reason of a pending job; many states of an array in squeue's short form."""
    if job.answered_s is None and not job.closed and not job.tasks:
        return "submitted" if job.stale_since_s is None else "unknown"
    text = state(job)
    if console.width and ":" in text and len(text) > _LONG_STATE:
        return short_state(job)
    reason = pending_reason(job)
    return f"{text} ({reason})" if reason and ":" not in text else text


def pending_reason(job: WatchedJob) -> str:
    """Return why a job, or the rest of an array, is pending, as Slurm writes it; empty if nothing is."""
    waiting = [
        task.reason for task in job.tasks.values() if not task.end and task.state.phase is Phase.WAITING
    ]
    reasons = [*waiting, job.pending_reason if job.pending_indices else ""]
    return next((reason for reason in reasons if reason not in ("", "None")), "")


def _outcome(job: WatchedJob, age_s: float | None) -> str:
    """Return the cause or the outcome of an ended job; what is missing to know more about another one."""
    if job.outcome:
        reason = doubt(job)
        return f"success, but {reason}" if reason else cause(job) or job.outcome
    if job.unwatched_s is not None:
        return "no longer watched"
    if job.answered_s is None:
        return "not yet listed" if job.stale_since_s is None else "scheduler not responding"
    parts = [f"{failed} failed so far"] if (failed := failed_count(job)) else []
    return ", ".join([*parts, f"as of {age(age_s)} ago"] if age_s is not None else parts)


def health_text(status: JobStatus) -> str:
    """Return the state of a monitor, with its host if it is on another one."""
    if status.health is Health.DEAD:
        return "DEAD"
    if status.health in (Health.STALE, Health.REMOTE) and status.owner:
        return one_line(f"{status.health} ({status.owner.host})")
    return status.health


def _stacked(rows: Sequence[Sequence[Cell]], console: Console) -> Iterator[str]:
    """Yield a few short lines for each job, for a terminal too narrow for a table."""
    for job, name, state_cell, elapsed_cell, outcome, monitor in rows:
        yield console.bold(f"{job.text} {name.text}".rstrip())
        parts = (state_cell.text, elapsed_cell.text, f"monitor {monitor.text}")
        for line in console.prose(", ".join(part for part in parts if part), "  "):
            yield console.styled(line, state_cell.style)
        if outcome.text:
            yield from console.prose(outcome.text, "  ")


def _counts_line(selected: Selected) -> str:
    """Return e.g. ``3 jobs: 1 running, 2 failed; 5 older ones: --all``."""
    groups = ", ".join(f"{number} {group}" for group, number in counts(selected.jobs))
    line = f"{count(len(selected.jobs), 'job')}: {groups}" if selected.jobs else "no job matches"
    if selected.beyond_limit:
        line += f"; {selected.beyond_limit} more match"
    return f"{line}; {selected.older} older: add --all" if selected.older else line


def _grouped_notes(jobs: Sequence[JobStatus], now_s: float) -> Iterator[tuple[list[str], str]]:
    """Yield each note with the ids of the jobs that it is about."""
    groups: dict[str, list[str]] = {}
    for status in jobs:
        for note in dict.fromkeys(_notes(status, now_s)):
            groups.setdefault(one_line(note), []).append(str(status.job.ref))
    yield from ((ids, note) for note, ids in groups.items())


def _notes(status: JobStatus, now_s: float) -> Iterator[str]:
    job = status.job
    outage = current_outage(job)
    if outage and not job.closed:
        since = f"since {clock(outage.since_s, now_s)}"
        why = f": {outage.why}" if outage.why else ""
        if outage.only_accounting:
            yield f"left the queue, but sacct has not answered {since}, so the outcome is not known yet{why}"
        else:
            as_of = f"as of {clock(job.answered_s, now_s)}, " if job.answered_s is not None else ""
            yield f"{as_of}stale {since}: the scheduler is not responding{why}"
    for text, advice in undelivered(status, now_s):
        yield f"{text}; {advice}" if advice else text


def _id_list(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_IDS_SHOWN])
    return f"{shown} and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else shown
