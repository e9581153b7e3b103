"""The screen of ``jobmon status``: the table, the numbers of jobs, and what else the user should know."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.delivery import undelivered
from jobmon.views.model import (
    age,
    by_interest,
    cause,
    clock,
    doubt,
    elapsed,
    is_unseen,
    pending_reason,
    short_state,
    state,
    state_counts,
)
from jobmon.views.restarts import restart_text
from jobmon.views.running import job_progress
from jobmon.views.table import Cell, table_lines
from jobmon.views.text_width import text_width, truncated
from jobmon_core.app.jobs.find import StateGroup, counts, fitting, group_of, running_tasks
from jobmon_core.app.jobs.overview import ending_of, failed_count
from jobmon_core.domain.backends import DEFAULT_BACKEND, PHRASES
from jobmon_core.domain.before.pending.categories import pending_words
from jobmon_core.domain.humanize import count, filled, joined, listed
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.pending_reasons import pending_hint
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console, Lines
    from jobmon_core.app.jobs.find import Selected
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.messages.scheduler_outage import Outage
    from jobmon_core.lifecycle.health import JobStatus


_HEADERS = ("JOB", "NAME", "STATE", "ELAPSED/LIMIT", "OUTCOME/CAUSE", "MONITOR")
_NAME, _STATE, _CAUSE, _MONITOR = 1, 2, 4, 5
_MAX_NAME = 40
_STEPS = (
    (_NAME, 24),
    (_CAUSE, 40),
    (_STATE, 18),  # only the states of an array are longer, and they have a short form
    (_CAUSE, 34),
    (_NAME, 14),
    (_CAUSE, 28),
    (_MONITOR, 12),
    (_NAME, 10),
    (_CAUSE, 20),
    (_NAME, 8),
    (_CAUSE, 16),
    (_NAME, 6),
    (_CAUSE, 10),
    (_STATE, 10),
)
_MIN_RUN_NAME = 7  # characters of the name of a run, shown after "…" in the narrowest column
_MIN_TABLE = 76  # columns; a narrower terminal gets a few lines per job
_IDS_SHOWN = 5
_SOURCES = {DEFAULT_BACKEND: "Slurm", "process": "the process table", **PHRASES}  # by backend
_CHECKED = {"local": "local jobs last checked", "process": "processes last checked"}  # by backend
_QUIT_HINT = "; Ctrl-C quits"
_HEALTHY = (Health.ALIVE, Health.DONE)  # monitors that need no attention
_STYLES = {
    StateGroup.RUNNING: Style.ACTIVE,
    StateGroup.COMPLETED: Style.GOOD,
    StateGroup.FAILED: Style.BAD,
    StateGroup.UNKNOWN: Style.ATTENTION,
    StateGroup.RESTARTING: Style.ATTENTION,
    StateGroup.CANCELLED: Style.DIM,
    StateGroup.UNWATCHED: Style.DIM,
}


def status_lines(selected: Selected, known: Overview, now_s: float, console: Console) -> Lines:
    """Yield the lines of ``jobmon status``."""
    header, jobs = _job_lines(selected.jobs, known, now_s, console)
    yield from chain(header, *jobs, [""] if jobs else [])
    yield from _counts_lines(selected, known, now_s, console)
    yield from _note_lines(selected.jobs, now_s, console)


def watch_lines(
    selected: Selected,
    known: Overview,
    now_s: float,
    console: Console,
    *,
    notices: Sequence[str] = (),
    height: int,
) -> list[str]:
    """Return at most ``height`` lines of ``jobmon status --watch``; jobs that do not fit are counted."""
    header, jobs = _job_lines(selected.jobs, known, now_s, console)
    notes = [*_note_lines(selected.jobs, now_s, console)]
    notes += chain.from_iterable(map(console.prose, notices))
    if len(notes) > (most := max(1, height // 3)):
        notes = [*notes[: most - 1], console.line("... more notes; enlarge the window")]
    counted = _counts_lines(selected, known, now_s, console)
    # on a line of its own, the hint would take the place of a job
    if text_width(counted[-1]) + len(_QUIT_HINT) <= console.width:
        counted[-1] += _QUIT_HINT
    heights = [len(lines) for lines in jobs]
    room = height - len(header) - len(counted) - len(notes) - 1
    shown = fitting(selected.jobs, heights, room)
    hint = []
    if len(shown) < len(jobs):
        shown = fitting(selected.jobs, heights, room - 1)
        more = count(len(jobs) - len(shown), "more job")
        hint = [console.line(f"... {more}; enlarge the window, or list fewer, e.g. with --running")]
    table = [*chain.from_iterable(jobs[position] for position in shown)]
    if table:
        table = [*header, *table]
        hint.append("")
    return [*table, *hint, *counted, *notes][:height]


def _job_lines(
    jobs: Sequence[JobStatus], known: Overview, now_s: float, console: Console
) -> tuple[list[str], list[list[str]]]:
    """Return the header of the table, if there is one, and the lines of each job."""
    rows = [_row(each, known, now_s, console) for each in jobs]
    headers: Sequence[str] = _HEADERS
    if console.width and all(each.health in _HEALTHY for each in jobs):
        headers, rows = _HEADERS[:_MONITOR], [row[:_MONITOR] for row in rows]
    if not rows or 0 < console.width < _MIN_TABLE:
        return [], [list(_stacked(row, console)) for row in rows]
    steps = [step for step in _STEPS if step[0] < len(headers)]
    header, *lines = table_lines(headers, rows, console, steps)
    return [header], [[line] for line in lines]


def _row(status: JobStatus, known: Overview, now_s: float, console: Console) -> list[Cell]:
    job = status.job
    return [
        Cell(str(job.ref)),
        _name_cell(job, console),
        state_cell(job),
        Cell(elapsed(job, now_s)),
        outcome_cell(status, known, now_s),
        Cell(health_text(status), Style.BAD if status.health.is_lost else Style.PLAIN),
    ]


def _style(job: WatchedJob) -> Style:
    if job.outcome is None and failed_count(job):
        return Style.BAD
    if doubt(job):
        return Style.ATTENTION
    return _STYLES.get(group_of(job), Style.PLAIN)


def _name_cell(job: WatchedJob, console: Console) -> Cell:
    name = one_line(job.label)
    if job.label != job.name:
        return run_cell(name)
    return Cell(truncated(name, _MAX_NAME) if console.width else name)


def run_cell(name: str) -> Cell:
    """Return the name of a run; in a narrow column its end, by which runs of a sweep differ."""
    lengths = range(len(name) - 2, _MIN_RUN_NAME - 1, -1)
    return Cell(name, shorter=tuple(f"…{name[-length:]}" for length in lengths))


def state_cell(job: WatchedJob) -> Cell:
    """Return the state; several in short have the codes of squeue."""
    style = _style(job)
    if is_unseen(job):
        return Cell("submitted" if job.stale_since_s is None else "unknown", style)
    if (counted := state_counts(job)).total() > 1:  # of one task, no number
        long = " ".join(f"{each}:{number}" for each, number in by_interest(counted))
        return Cell(one_line(long), style, (one_line(short_state(job)),))
    return Cell(one_line(state(job)), style)


def outcome_cell(status: JobStatus, known: Overview, now_s: float) -> Cell:
    """Return the cause or outcome of an ended job; of another, how far it is or what it waits for."""
    job = status.job
    if job.outcome:
        how = one_line((doubt(job) or cause(job) or job.outcome) + _other_causes(job))
        if follows := restart_text(job, known.lineages.get(job.id), now_s):
            return Cell(f"{how}; {follows}", shorter=(follows,))
        return Cell(how)
    if job.unwatched_s is not None:
        return Cell("no longer watched")
    if job.answered_s is None:
        return Cell("not yet listed" if job.stale_since_s is None else "scheduler not responding")
    age_s, progress = known.age_s(job, now_s), job_progress(status, known.progress.get(job.id), now_s)
    long, *shorter = (_so_far(job, reason, progress, age_s) for reason in _why_pending(job))
    return Cell(long, shorter=tuple(shorter))


def _other_causes(job: WatchedJob) -> str:
    """Return e.g. `` and 2 other causes``."""
    others = sum(group.outcome is job.outcome for group in cause_groups(job)) - 1
    if others > 0:
        return f" and {count(others, 'other cause')}"
    return ""


def _so_far(job: WatchedJob, why_pending: str, progress: str, age_s: float | None) -> str:
    failed = failed_count(job)
    endings = filter(None, map(ending_of, job.tasks.values() if group_of(job) is StateGroup.ENDING else ()))
    parts = (
        filled("{} failed so far", failed),
        progress,
        why_pending,
        next((ending.text for ending in endings), ""),
        f"last answer {age(age_s)} ago" if age_s is not None else "",
    )
    return one_line(joined(*parts))


def _why_pending(job: WatchedJob) -> tuple[str, ...]:
    """Return why a job is pending, in ever fewer words; of only some tasks, what the user must do."""
    reason = pending_reason(job)
    hint = pending_hint(reason)
    if hint and not hint.starts_by_itself:
        problem = hint.problem.removeprefix("is ")
        clause = problem.partition(":")[0]
        return f"{problem} ({reason})", f"{clause}: {reason}", clause
    if len(state_counts(job)) > 1:
        return ("",)
    words = pending_words(reason)
    if words and reason:
        return (f"{words} ({reason})", f"{words}: {reason}", words)
    return (reason,)


def health_text(status: JobStatus) -> str:
    """Return the state of a monitor, with its host if that is another one."""
    if status.health is Health.DEAD:
        return "DEAD"
    if status.health in (Health.STALE, Health.REMOTE) and status.owner:
        return one_line(f"{status.health} ({status.owner.host})")
    return status.health


def _stacked(row: Sequence[Cell], console: Console) -> Lines:
    job, name, state_cell, elapsed_cell, outcome, *monitor = row
    yield console.bold(f"{job.text} {name.text}".rstrip())
    elapsed_text = elapsed_cell.text.replace("-/", "limit ")
    parts = (state_cell.text, elapsed_text, *(f"monitor {cell.text}" for cell in monitor))
    for line in console.prose(", ".join(parts), "  "):
        yield console.styled(line, state_cell.style)
    if outcome.text:
        yield from console.prose(outcome.text, "  ")


def _counts_lines(selected: Selected, known: Overview, now_s: float, console: Console) -> list[str]:
    """Return e.g. ``3 jobs: 1 running, 2 failed (Slurm last answered 20s ago); 5 older: add --all``.

    Only a terminal gets the age of the data.
    """
    if not known.jobs:
        return console.prose(
            "no jobs are being watched; start with `jobmon submit SCRIPT` or `jobmon watch JOBID`"
        )
    jobs, line = selected.jobs, "no job matches"
    if jobs:
        line = f"{count(len(jobs), 'job')}: {', '.join(_numbers(jobs))}"
    if console.width:
        line += _freshness(jobs, known, now_s)
    if selected.beyond_limit:
        line += f"; {selected.beyond_limit} more match"
    if selected.older:
        line += f"; {selected.older} older: add --all"
    return console.prose(line)


def _numbers(jobs: Sequence[JobStatus]) -> Lines:
    doubtful = sum(each.job.is_doubtful_success for each in jobs)
    unseen = sum(is_unseen(each.job) for each in jobs)
    for group, number in counts([each for each in jobs if not is_unseen(each.job)]):
        more = ""
        if group is StateGroup.COMPLETED and doubtful:
            more = f" ({doubtful} doubtful)"
        elif group is StateGroup.RUNNING:
            more = _running_share([each.job for each in jobs])
        yield f"{number} {group}{more}"
    if unseen:
        yield f"{unseen} not seen yet"


def _running_share(jobs: Sequence[WatchedJob]) -> str:
    """Return e.g. `` (12 of 40 array tasks)``; empty if no array runs."""
    arrays = [job for job in jobs if job.is_array and group_of(job) is StateGroup.RUNNING]
    total = sum(state_counts(job).total() for job in arrays)
    if arrays:
        return f" ({sum(map(running_tasks, arrays))} of {total} array tasks)"
    return ""


def _freshness(jobs: Sequence[JobStatus], known: Overview, now_s: float) -> str:
    oldest_s: dict[str, float] = {}
    for job in (each.job for each in jobs):
        if not job.closed and job.answered_s is not None and known.age_s(job, now_s) is None:
            name = _CHECKED.get(job.backend) or f"{_scheduler_name(job)} last answered"
            oldest_s[name] = max(oldest_s.get(name, 0.0), now_s - job.answered_s)
    answers = [f"{name} {age(age_s)} ago" for name, age_s in oldest_s.items()]
    if answers:
        return f" ({', '.join(answers)})"
    return ""


def _scheduler_name(job: WatchedJob) -> str:
    return _SOURCES.get(job.backend, f"{job.backend} scheduler")


def _note_lines(jobs: Sequence[JobStatus], now_s: float, console: Console) -> Lines:
    for ids, text in (*_outages([each.job for each in jobs], now_s), *_grouped_notes(jobs, now_s)):
        for line in console.prose(f"{listed(ids, _IDS_SHOWN)}: {text}"):
            yield console.styled(line, Style.ATTENTION)


def _outages(jobs: Sequence[WatchedJob], now_s: float) -> Iterator[tuple[list[str], str]]:
    groups: dict[tuple[str, str, str, bool], list[tuple[WatchedJob, Outage]]] = {}
    for job in jobs:
        if (outage := current_outage(job)) and not job.closed:
            key = (job.backend, job.cluster, outage.why, outage.only_accounting)
            groups.setdefault(key, []).append((job, outage))
    for group in groups.values():
        answers_s = [job.answered_s for job, _ in group if job.answered_s is not None]
        times_s = [outage.since_s for _, outage in group]
        job, outage = group[0]
        if outage.only_accounting:
            since = f"since {clock(min(times_s), now_s)}"
            text = f"left the queue, but sacct has not answered {since}, so the outcome is not known yet"
        else:
            answered_s = max(answers_s, default=min(times_s))
            # failures before the latest answer do not count: another monitor was answered after them
            since = clock(min((at_s for at_s in times_s if at_s >= answered_s), default=answered_s), now_s)
            last = f" (last answer at {clock(answered_s, now_s)})" if answers_s else ""
            text = f"{_scheduler_name(job)} has not responded since {since}{last}"
        if outage.why:
            text += f": {outage.why}"
        yield [str(each.ref) for each, _ in group], one_line(text)


def _grouped_notes(jobs: Sequence[JobStatus], now_s: float) -> Iterator[tuple[list[str], str]]:
    groups: dict[str, list[str]] = {}
    for status in jobs:
        texts = (f"{text}; {advice}" if advice else text for text, advice in undelivered(status, now_s))
        for note in dict.fromkeys(texts):
            groups.setdefault(one_line(note), []).append(str(status.job.ref))
    yield from ((ids, note) for note, ids in groups.items())
