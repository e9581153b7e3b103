"""What changed since a job last worked."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import last_write_s
from jobmon_core.domain.many.provenance.compare import (
    ComparedRun,
    compare,
    is_earlier_success,
    script_path,
    summary_line,
)
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.observe.git import commits_between
from jobmon_core.observe.submission import changed_files
from jobmon_core.store.job_files import RunRecordFile
from jobmon_core.store.jobs import Unreadable
from jobmon_core.system.files import read_own
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.store.home import Home
    from jobmon_core.store.jobs import JobStore

_MAX_SEARCHED = 1000  # state files, the newest first
_MAX_STATE_BYTES = 64 * 2**20
_SHOWN_FILES = 3
_SEARCH_FOR_S = 4.0  # for all tasks together: a message must not wait longer


def compared_run(home: Home, job: WatchedJob, task: Task | None = None) -> ComparedRun:
    """Return a job with its record; without ``task``, its only task."""
    if task is None and len(job.tasks) == 1:
        task = next(iter(job.tasks.values()))
    return ComparedRun(job, task, RunRecordFile(home.run_file(job.id)).taken())


def find_last_good(
    home: Home, store: JobStore, run: ComparedRun, may_go_on: Callable[[], bool] = lambda: True
) -> ComparedRun | None:
    """Return the newest earlier success of the same name and, as far as known, the same script.

    ``may_go_on`` is asked before each state file is read.
    """
    path = script_path(run.job, run.record)
    for job in _jobs_of_same_name(store, run.job, may_go_on):
        if is_earlier_success(job, run.job):
            good = compared_run(home, job)
            other = script_path(good.job, good.record)
            if not path or not other or path == other:
                return good
    return None


def commits_after(good: ComparedRun, run: ComparedRun) -> int | None:
    """Return how many commits lie between two runs."""
    old, new = (each.record.git if each.record else None for each in (good, run))
    if old and new and old.commit and new.commit and old.commit != new.commit and old.root == new.root:
        return commits_between(new.root, old.commit, new.commit, Runner())
    return None


def changed_while_running(run: ComparedRun) -> list[str]:
    """Return the files that the script names whose content was changed while the task ran."""
    if run.task is None or run.record is None:
        return []
    started_s, until_s = run.task.start_s, inf
    if end := run.task.end:
        started_s = end.started_s or started_s
        until_s = inf if end.ended_s is None else end.ended_s + 1
    if not started_s:
        return []
    changed = changed_files(run.record.files)
    if run.record.script and run.record.script.path in changed:  # Slurm runs a copy of it
        changed.remove(run.record.script.path)
    return [path for path in changed if started_s <= (last_write_s([path]) or 0.0) <= until_s]


def changes_lines(
    home: Home,
    store: JobStore,
    job: WatchedJob,
    found: Mapping[str, Diagnosis],
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, str]:
    """Return what changed while each task ran, and since its script last succeeded.

    A task that has failed or is doubtful by the diagnosis ``found`` has a line. The earlier jobs are read
    once. After four seconds of ``clock``, the tasks that are left have none.
    """
    until_s, run, good, commits = clock() + _SEARCH_FOR_S, compared_run(home, job), None, None
    lines = dict[str, str]()
    for key, diagnosis in found.items():
        task = replace(job.tasks[key], diagnosis=diagnosis)
        is_bad_end = task.end is not None and task.end.outcome in (Outcome.FAILURE, Outcome.UNKNOWN)
        if clock() > until_s:
            break
        if not (is_bad_end or task.is_doubtful_success):  # then the user does not ask what changed
            continue
        if not lines:
            good = find_last_good(home, store, run, lambda: clock() <= until_s)
            commits = commits_after(good, run) if good else None
        lines[key] = _line(run._replace(task=task), good, commits)
    return lines


def _line(run: ComparedRun, good: ComparedRun | None, commits: int | None) -> str:
    parts = []
    if changed := changed_while_running(run):
        names = ", ".join(path.rpartition("/")[2] for path in changed[:_SHOWN_FILES])
        parts.append(f"while the job ran: {names}")
    if run.record and good and good.record:
        parts.append(summary_line(str(good.job.ref), compare(good, run, commits)))
    return "; ".join(parts)


def _jobs_of_same_name(
    store: JobStore, job: WatchedJob, may_go_on: Callable[[], bool]
) -> Iterator[WatchedJob]:
    """Yield the jobs whose state files contain the name, newest first."""
    mark = f'"name": {json.dumps(job.name)}'.encode("ascii")  # most files need not be parsed
    paths = sorted(store.paths(), key=lambda path: path.stem.split("-")[2:], reverse=True)
    for path in islice(paths, _MAX_SEARCHED):
        if not may_go_on():
            return
        try:
            has_name = mark in read_own(path, _MAX_STATE_BYTES)
        except OSError:
            continue  # it was removed just now, or is not the user's
        if has_name and not isinstance(found := store.read(path), Unreadable):
            yield found
