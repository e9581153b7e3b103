"""Groups of runs as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style, one_line
from jobmon.views.model import clock, elapsed, status_json
from jobmon.views.status import outcome_cell, state_cell
from jobmon.views.table import Cell, Shrink, table_lines
from jobmon_core.app.jobs.selection import OF_OUTCOME, group_of
from jobmon_core.app.jobs.selection import Group as JobGroup
from jobmon_core.domain.groups.member_view import view_of
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.domain.groups.model import Group
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.tracking.model import WatchedJob

_HEADERS = ("RUN", "JOB", "PARTITION", "NODES", "STATE", "ELAPSED/LIMIT", "OUTCOME/CAUSE")
_RUN, _PARTITION, _NODES, _STATE, _CAUSE = 0, 2, 3, 4, 6
_STEPS = (
    Shrink(_CAUSE, 36),
    Shrink(_RUN, 36),
    Shrink(_NODES, 10),
    Shrink(_CAUSE, 24),
    Shrink(_STATE, 12),
    Shrink(_RUN, 24),
    Shrink(_PARTITION, 9),
    Shrink(_NODES, 6),
    Shrink(_CAUSE, 16),
    Shrink(_RUN, 14),
    Shrink(_STATE, 9),
    Shrink(_CAUSE, 8),
    Shrink(_RUN, 8),
)
_MIN_NAME = 7  # characters of a name, shown after "…" in the narrowest column
NOT_SUBMITTED, NEVER_STARTS, UNREADABLE = "not submitted", "never start", "unreadable"
_ORDER = (
    *(JobGroup.FAILED, JobGroup.UNKNOWN, NEVER_STARTS, UNREADABLE, JobGroup.CANCELLED, JobGroup.UNWATCHED),
    *(JobGroup.RUNNING, JobGroup.PENDING, JobGroup.ENDING, NOT_SUBMITTED, JobGroup.COMPLETED),
)
_LIST_HEADERS = ("GROUP", "RUNS", "STATE", "SINCE")


def group_lines(
    group: Group, runs: Sequence[GroupRun], known: Overview, now_s: float, console: Console
) -> Iterator[str]:
    """Yield the lines of ``jobmon group status``."""
    if runs:
        yield from table_lines(_HEADERS, [_row(run, known, now_s) for run in runs], console, _STEPS)
        yield ""
    yield from console.prose(f"{count(len(runs), 'run')}{_counted(runs)}; {_when(group, now_s)}")
    for note in _notes(group, runs):
        for line in console.prose(note, hanging="  "):
            yield console.styled(line, Style.ATTENTION)
    if group.log.path:
        yield from console.path(group.log.path, "log: ", "  ")


def list_lines(
    groups: Iterable[tuple[Group, Sequence[GroupRun]]], now_s: float, console: Console
) -> Iterator[str]:
    """Yield the lines of ``jobmon group list``."""
    rows = [
        [
            Cell(group.name),
            Cell(str(len(runs))),
            Cell(_counted(runs).removeprefix(": ")),
            Cell(clock(group.created_s, now_s)),
        ]
        for group, runs in groups
    ]
    if rows:
        yield from table_lines(_LIST_HEADERS, rows, console, (Shrink(2, 24), Shrink(0, 20)))
    else:
        yield from console.prose("there is no group; `jobmon help group` shows how to make one")


def group_json(
    group: Group,
    runs: Sequence[GroupRun],
    progress: Mapping[str, JobProgress],
    summary: str | None,
    now_s: float,
) -> dict[str, Any]:
    """Return the documented object of ``jobmon group status --json``.

    ``summary`` is the path of the group's summary file, None if there is none.
    """
    return {
        **list_json(group, runs),
        "interval_s": group.settings.interval_s,
        "messages": group.settings.messages,
        "then": list(group.settings.then),
        "broken": group.broken,
        "then_started_at": group.then_since_s,
        "then_result": group.then_result or None,
        "log": group.log.path or None,
        "summary": summary,
        "runs": [_run_json(run, progress, now_s) for run in runs],
    }


def list_json(group: Group, runs: Sequence[GroupRun]) -> dict[str, Any]:
    """Return the documented object of a group in ``jobmon group list --json``."""
    return {
        "group": group.name,
        "created_at": group.created_s,
        "complete_at": group.complete_s,
        "total": len(runs),
        "counts": dict(Counter(map(word_of, runs))),
    }


def word_of(run: GroupRun) -> str:
    """Return the state of a run, or how it ended, as one of the words in `_ORDER`."""
    if run.job is None and run.member.outcome:
        return OF_OUTCOME[run.member.outcome]  # its state file was removed since
    if run.job is None:
        return UNREADABLE if run.problem else NOT_SUBMITTED
    return NEVER_STARTS if view_of(run.job).never_starts else group_of(run.job)


def _run_json(run: GroupRun, progress: Mapping[str, JobProgress], now_s: float) -> dict[str, Any]:
    named = {"run": run.name, "submitted": bool(run.member.state_id)}
    if run.status is None:
        return {**named, "problem": run.problem} if run.problem else named
    job = run.status.job
    return {
        **named,
        **status_json(run.status, now_s, progress.get(job.id)),
        "nodes": _nodes(job),
        "problem": "",
    }


def _row(run: GroupRun, known: Overview, now_s: float) -> list[Cell]:
    if run.status is None:
        state = Cell(word_of(run), Style.DIM)
        problem = run.member.cause or run.problem
        return [
            _name_cell(run.name),
            Cell(""),
            Cell(""),
            Cell(""),
            state,
            Cell(""),
            Cell(one_line(problem)),
        ]
    job = run.status.job
    return [
        _name_cell(run.name),
        Cell(str(job.ref)),
        Cell(one_line(job.partition)),
        Cell(one_line(_nodes(job))),
        state_cell(job),
        Cell(elapsed(job, now_s)),
        outcome_cell(run.status, known, now_s),
    ]


def _name_cell(name: str) -> Cell:
    """Return the name of a run; in a narrow column, its end, by which runs of a sweep usually differ."""
    name = one_line(name)
    return Cell(
        name, shorter=tuple(f"…{name[-length:]}" for length in range(len(name) - 2, _MIN_NAME - 1, -1))
    )


def _nodes(job: WatchedJob) -> str:
    """Return the nodes of all tasks, as Slurm writes them; empty if none has started."""
    nodes = ((task.end.nodes if task.end else "") or task.nodes for task in job.tasks.values())
    return ",".join(dict.fromkeys(filter(None, nodes)))


def _counted(runs: Sequence[GroupRun]) -> str:
    """Return e.g. ``: 1 failed, 2 running, 5 completed``; empty for no runs."""
    numbers = Counter(map(word_of, runs))
    counted = ", ".join(f"{numbers[word]} {word}" for word in _ORDER if numbers[word])
    return f": {counted}" if counted else ""


def _when(group: Group, now_s: float) -> str:
    if group.complete_s is not None:
        return f"over since {clock(group.complete_s, now_s)}"
    return f"created at {clock(group.created_s, now_s)}"


def _notes(group: Group, runs: Sequence[GroupRun]) -> Iterator[str]:
    """Yield what the user should know or do."""
    if group.broken:
        yield f"{group.broken}; `jobmon group hold {group.name}` holds the rest"
    if any(word_of(run) == JobGroup.FAILED for run in runs):
        yield f"`jobmon group resubmit-failed {group.name}` submits the failed runs again"
    if any(word_of(run) == NOT_SUBMITTED for run in runs):
        yield f"some runs are not submitted: repeat `jobmon group submit {group.name} FILE`"
    if group.then_since_s is not None:
        yield f"--then: {group.then_result or 'running'}"
