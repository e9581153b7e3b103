"""Use case: name what changed between two runs of a job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.run_changes import (
    changed_while_running,
    commits_after,
    compared_run,
    find_last_good,
)
from jobmon_core.analysis.job_logs import log_files
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.output import with_log_paths
from jobmon_core.app.jobs.overview import worst_task
from jobmon_core.app.runs.record import scheduler_script
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.many.provenance.compare import compare, new_kinds, script_path
from jobmon_core.domain.many.provenance.model import RunRecord
from jobmon_core.domain.redaction import redacted_lines
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.many.provenance.compare import ComparedRun, Difference
    from jobmon_core.domain.slurm.job_ids import JobRef

LAST_GOOD = "last-good"
_LOG_BYTES = 2 * 2**20  # read from each end of a log
_MAX_NEW_LINES = 10


@dataclass(frozen=True, slots=True)
class RunDiff:
    """What differs between a job and another one, usually an earlier success."""

    ref: JobRef
    run: ComparedRun
    good_ref: JobRef
    good: ComparedRun
    is_last_good: bool
    differences: tuple[Difference, ...]
    changed_while_running: tuple[str, ...]  # paths
    new_lines: tuple[str, ...]  # of the job's logs, the first of each kind that the other's logs lack
    more_kinds: int = 0
    notes: tuple[str, ...] = ()  # what could not be compared


def diff_runs(ctx: Context, argument: str, other: str = LAST_GOOD) -> RunDiff:
    """Compare a job with another one, by default with the newest earlier success of its name and script.

    Raise JobmonError if no earlier job succeeded, or both are the same.
    """
    ref, run = _run(ctx, argument)
    if other == LAST_GOOD:
        good = find_last_good(ctx.home, ctx.store, run)
        if good is None:
            raise _no_good_run(run, ref)
        good_ref, good = good.job.ref, _with_script(ctx, good)
    else:
        good_ref, good = _run(ctx, other)
    if (good_ref, good.job.id) == (ref, run.job.id):
        raise JobmonError(f"job {ref} cannot be compared with itself")
    notes = [*_missing_records(good, run)]
    lines, more = _new_log_lines(ctx, good, run, notes)
    return RunDiff(
        ref,
        run,
        good_ref,
        good,
        other == LAST_GOOD,
        compare(good, run, commits_after(good, run)),
        tuple(changed_while_running(run)),
        redacted_lines(tuple(lines)),
        more,
        tuple(notes),
    )


def _run(ctx: Context, argument: str) -> tuple[JobRef, ComparedRun]:
    job, ref = find_job(ctx, argument)
    tasks = [task for task in job.tasks.values() if ref.key in ("", task.key)]
    return ref, _with_script(ctx, compared_run(ctx.home, job, worst_task(tasks)))


def _with_script(ctx: Context, run: ComparedRun) -> ComparedRun:
    if run.record is None:
        with suppress(JobmonError):  # no such scheduler on this host
            if script := scheduler_script(ctx, run.job):
                return run._replace(record=RunRecord(run.job.registered_s, script=script))
    return run


def _no_good_run(run: ComparedRun, ref: JobRef) -> JobmonError:
    path = script_path(run.job, run.record)
    script = f" with the script {path}" if path else ""
    name = f"named {run.job.name!r}{script}" if run.job.name else f"like job {ref}"
    return JobmonError(
        f"no earlier job {name} has succeeded, as far as jobmon knows; "
        f"`jobmon diff {ref} OTHER` compares it with a job that you choose"
    )


def _missing_records(good: ComparedRun, run: ComparedRun) -> Iterator[str]:
    unknown = " and ".join(str(each.job.ref) for each in (good, run) if each.record is None)
    if unknown:
        yield f"No record shows what {unknown} ran, so only node, partition, time limit and log are compared."
    for each in (good, run):
        ref = each.job.ref
        if each.record is None:
            continue
        if not each.record.folder:
            yield f"jobmon did not submit job {ref}, so only its script is known."
        yield from (f"Job {ref}: {problem}." for problem in each.record.problems)


def _new_log_lines(
    ctx: Context, good: ComparedRun, run: ComparedRun, notes: list[str]
) -> tuple[list[str], int]:
    old_paths, new_paths = (_log_paths(ctx, each) for each in (good, run))
    if not old_paths or not new_paths:
        missing = good if not old_paths else run
        notes.append(f"jobmon does not know where the log of job {missing.job.ref} is.")
        return [], 0
    if set(old_paths) & set(new_paths):
        notes.append("Both jobs wrote to the same log, so their lines cannot be compared.")
        return [], 0
    known = [line for path in old_paths for line in _lines(path)]
    if not known:
        notes.append(f"The log of job {good.job.ref} is gone or empty, so no lines are compared.")
        return [], 0
    return new_kinds((line for path in new_paths for line in _lines(path)), known, _MAX_NEW_LINES)


def _log_paths(ctx: Context, run: ComparedRun) -> list[str]:
    task = run.task or worst_task(list(run.job.tasks.values()))
    if task is None:
        return []
    try:
        job = with_log_paths(ctx, run.job)
    except JobmonError:
        return []  # no such scheduler on this host
    return list(dict.fromkeys(path for path in log_files(job, task) if path))


def _lines(path: str) -> Iterator[str]:
    head = read_head(path, _LOG_BYTES)
    yield from head.texts
    if not head.complete:
        yield from read_tail(path, _LOG_BYTES).texts
