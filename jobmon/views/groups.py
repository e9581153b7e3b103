"""Groups of runs as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import clock, elapsed, fields, known_fields, nodes_of, status_json
from jobmon.views.status import outcome_cell, run_cell, state_cell
from jobmon.views.table import Cell, table_lines
from jobmon_core.app.jobs.find import OF_OUTCOME, StateGroup, group_of
from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.groups.member_view import view_of
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group


_HEADERS = ("RUN", "JOB", "PARTITION", "NODES", "STATE", "ELAPSED/LIMIT", "OUTCOME/CAUSE")
_RUN, _PARTITION, _NODES, _STATE, _CAUSE = 0, 2, 3, 4, 6
_STEPS = (
    (_CAUSE, 36),
    (_RUN, 36),
    (_NODES, 10),
    (_CAUSE, 24),
    (_STATE, 12),
    (_RUN, 24),
    (_PARTITION, 9),
    (_NODES, 6),
    (_CAUSE, 16),
    (_RUN, 14),
    (_STATE, 9),
    (_CAUSE, 8),
    (_RUN, 8),
)
NOT_SUBMITTED, NEVER_STARTS, UNREADABLE = "not submitted", "never start", "unreadable"
_ORDER = (
    *(
        StateGroup.FAILED,
        StateGroup.UNKNOWN,
        NEVER_STARTS,
        UNREADABLE,
        StateGroup.CANCELLED,
        StateGroup.UNWATCHED,
    ),
    *(StateGroup.RUNNING, StateGroup.PENDING, StateGroup.ENDING, StateGroup.RESTARTING, NOT_SUBMITTED),
    StateGroup.COMPLETED,
)
_LIST_HEADERS = ("GROUP", "RUNS", "STATE", "SINCE")


def group_lines(
    group: Group, runs: Sequence[GroupRun], known: Overview, now_s: float, console: Console
) -> Lines:
    """Yield the lines of ``jobmon group status``."""
    if runs:
        yield from table_lines(_HEADERS, [_row(run, known, now_s) for run in runs], console, _STEPS)
        yield ""
    when = f"created at {clock(group.created_s, now_s)}"
    if group.complete_s is not None:
        when = f"over since {clock(group.complete_s, now_s)}"
    yield from console.prose(f"{count(len(runs), 'run')}{_counted(runs)}; {when}")
    for note in _notes(group, runs):
        for line in console.prose(note, hanging="  "):
            yield console.styled(line, Style.ATTENTION)
    if group.log.path:
        yield from console.path(group.log.path, "log: ", "  ")


def list_lines(groups: Iterable[tuple[Group, Sequence[GroupRun]]], now_s: float, console: Console) -> Lines:
    """Yield the lines of ``jobmon group list``."""
    rows = [
        (group.name, str(len(runs)), _counted(runs).removeprefix(": "), clock(group.created_s, now_s))
        for group, runs in groups
    ]
    if rows:
        yield from table_lines(_LIST_HEADERS, rows, console, ((2, 24), (0, 20)))
    else:
        yield from console.prose("there is no group; `jobmon help group` shows how to make one")


def group_json(
    group: Group,
    runs: Sequence[GroupRun],
    progress: Mapping[str, JobProgress],
    summary: str | None,
    now_s: float,
) -> Json:
    """Return the object of ``jobmon group status --json``; ``summary`` is the path of the summary file."""
    return {
        **list_json(group, runs),
        **fields(group.settings, "interval_s", "messages", "then"),
        **fields(group, "broken", then_started_at="then_since_s"),
        **known_fields(group, "then_result"),
        **known_fields(group.log, log="path"),
        "summary": summary,
        "runs": [_run_json(run, progress, now_s) for run in runs],
    }


def list_json(group: Group, runs: Sequence[GroupRun]) -> Json:
    """Return the object of a group in ``jobmon group list --json``."""
    return {
        **fields(group, group="name", created_at="created_s", complete_at="complete_s"),
        "total": len(runs),
        "counts": dict(Counter(map(word_of, runs))),
    }


def word_of(run: GroupRun) -> str:
    """Return the state of a run, or how it ended, as one of the words in `_ORDER`."""
    if run.job is None and run.member.outcome:
        return OF_OUTCOME[run.member.outcome]  # its state file was removed since
    if run.job is None:
        if run.problem:
            return UNREADABLE
        return NOT_SUBMITTED
    if view_of(run.job).never_starts:
        return NEVER_STARTS
    return group_of(run.job)


def _run_json(run: GroupRun, progress: Mapping[str, JobProgress], now_s: float) -> Json:
    named = {"run": run.name, "submitted": bool(run.member.state_id)}
    if run.status is None:
        if run.problem:
            return {**named, "problem": run.problem}
        return named
    job = run.status.job
    return {
        **named,
        **status_json(run.status, now_s, progress.get(job.id)),
        "nodes": _nodes(job),
        "problem": "",
    }


def _row(run: GroupRun, known: Overview, now_s: float) -> list[Cell | str]:
    name = run_cell(one_line(run.name))
    if run.status is None:
        return [name, "", "", "", Cell(word_of(run), Style.DIM), "", run.member.cause or run.problem]
    job = run.status.job
    # of a success, the last figures of its log
    figures = ""
    if group_of(job) is StateGroup.COMPLETED:
        figures = view_of(job).metrics
    outcome = figures or outcome_cell(run.status, known, now_s)
    return [name, str(job.ref), job.partition, _nodes(job), state_cell(job), elapsed(job, now_s), outcome]


def _nodes(job: WatchedJob) -> str:
    nodes = map(nodes_of, job.tasks.values())
    return ",".join(dict.fromkeys(filter(None, nodes)))


def _counted(runs: Sequence[GroupRun]) -> str:
    numbers = Counter(map(word_of, runs))
    counted = ", ".join(f"{numbers[word]} {word}" for word in _ORDER if numbers[word])
    if counted:
        return f": {counted}"
    return ""


def _notes(group: Group, runs: Sequence[GroupRun]) -> Lines:
    if group.broken:
        yield f"{group.broken}; `jobmon group hold {group.name}` holds the rest"
    if any(word_of(run) == StateGroup.FAILED for run in runs):
        yield f"`jobmon group resubmit-failed {group.name}` submits the failed runs again"
    if any(word_of(run) == NOT_SUBMITTED for run in runs):
        yield f"some runs are not submitted: repeat `jobmon group submit {group.name} FILE`"
    if group.then_since_s is not None:
        yield f"--then: {group.then_result or 'running'}"
