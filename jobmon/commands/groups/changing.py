"""``jobmon group cancel``, ``hold``, ``release`` and ``resubmit-failed``: each asks first."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from jobmon.commands.common import is_confirmed, open_context, result_text
from jobmon.commands.groups.asking import require_terminal
from jobmon.commands.groups.editing import submit_all
from jobmon.errors import say
from jobmon.views.console import one_line
from jobmon_core.app.groups.change_jobs import Change, change_jobs
from jobmon_core.app.groups.jobs import alive_jobs, failed_indices, failed_runs, pending_jobs, runs_of
from jobmon_core.app.groups.submit_runs import Run, SubmitRuns
from jobmon_core.app.runs.rerun import in_recorded_folder, plan_rerun
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count
from jobmon_core.domain.slurm.job_ids import compact
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.app.runs.rerun import RerunPlan
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.model import WatchedJob

_SHOWN = 6  # jobs or runs that a question names
_WORDS = {Change.CANCEL: "cancelled", Change.HOLD: "held", Change.RELEASE: "released"}
_OWN = _YES, _RETRY = "--yes", "--retry-unclear"


def cancel(options: argparse.Namespace) -> int:
    """Cancel the jobs that have not ended."""
    return _change(options, Change.CANCEL)


def hold(options: argparse.Namespace) -> int:
    """Hold the pending jobs."""
    return _change(options, Change.HOLD)


def release(options: argparse.Namespace) -> int:
    """Release the pending jobs, held or not: the record of a job that was held just now may not show it."""
    return _change(options, Change.RELEASE)


def resubmit_failed(options: argparse.Namespace) -> int:
    """Submit the failed runs again; return 1 if one of them cannot be submitted, or the user declined."""
    words = [word for word in options.sbatch_options if word not in _OWN]  # sbatch has no such options
    is_sure = options.yes or _YES in options.sbatch_options
    retry_unclear = options.retry_unclear or _RETRY in options.sbatch_options
    require_terminal(is_confirmed=is_sure)
    ctx = open_context()
    known = runs_of(ctx, ctx.groups.load(options.name))
    unread = _say_unread(known, (Outcome.FAILURE, None))
    failed = list(failed_runs(known))
    if not failed:
        say(f"no {'other ' if unread else ''}run of group {options.name} has failed; nothing was submitted")
        return 1 if unread else 0
    runs, exit_code = _planned(ctx, failed, words)
    exit_code = max(exit_code, 1 if unread else 0)
    if not runs:
        return exit_code
    names = _list([run.name for run in runs])
    say(f"submitting {count(len(runs), 'failed run')} again: {names}")
    if not (is_sure or is_confirmed("Submit them?", "nothing was submitted")):
        return 1
    submitter = SubmitRuns(ctx, options.name, say, retry_unclear=retry_unclear)
    return max(exit_code, submit_all(submitter, runs, options.name))


def _planned(ctx: Context, failed: Sequence[GroupRun], words: Sequence[str]) -> tuple[list[Run], int]:
    """Return the runs to submit, and an exit code; report what cannot be submitted, and what has changed."""
    runs, exit_code = [], 0
    for each in failed:
        if each.job is None:
            continue
        tasks = compact(failed_indices(each.job))
        try:
            plan = plan_rerun(ctx, str(each.job.ref), [*([f"--array={tasks}"] if tasks else []), *words])
        except JobmonError as error:
            say(one_line(f"{each.name}: {error}"))
            exit_code = 1
            continue
        for change in plan.changes:
            say(one_line(f"{each.name}: {change}"))
        runs.append(_run(ctx, each, plan))
    return runs, exit_code


def _run(ctx: Context, run: GroupRun, plan: RerunPlan) -> Run:
    return Run(
        run.name,
        plan.folder,
        plan.arguments,
        plan.backend,
        plan.job_config,
        plan.no_agent,
        plan.script.path,
        replaces=run.member.state_id,
        prepared=partial(in_recorded_folder, ctx, plan),
    )


def _change(options: argparse.Namespace, change: Change) -> int:
    """Ask and change the jobs.

    Return 1 if a state file cannot be read, the scheduler refused, or the user declined.
    """
    require_terminal(is_confirmed=options.yes)
    ctx = open_context()
    group = ctx.groups.load(options.name)
    runs = runs_of(ctx, group)
    jobs = alive_jobs(runs) if change is Change.CANCEL else pending_jobs(runs)
    exit_code = 1 if _say_unread(runs, (None,)) else 0
    if not jobs:
        kind = "job that has not ended" if change is Change.CANCEL else "pending job"
        say(f"group {group.name} has no {'other ' if exit_code else ''}{kind}; nothing was changed")
        return exit_code
    if not options.yes:
        say(f"{change} {count(len(jobs), 'job')} of group {group.name}: {_list(_names(jobs))}")
        if not is_confirmed(f"{change.capitalize()} them?", "nothing was changed"):
            return 1
    for answer in change_jobs(ctx, change, jobs):
        if answer.error:
            say(one_line(answer.error))
            exit_code = 1
        else:
            print(result_text(f"group {group.name}", f"{count(len(answer.refs), 'job')} {_WORDS[change]}"))
    if change is Change.CANCEL and group.unsubmitted:
        say(f"group {group.name} keeps {count(len(group.unsubmitted), 'run')} not submitted yet")
    return exit_code


def _say_unread(runs: Sequence[GroupRun], outcomes: Sequence[Outcome | None]) -> bool:
    """Name each run with such an outcome whose state file cannot be read; return whether there is one."""
    unread = [run for run in runs if run.problem and run.member.outcome in outcomes]
    for run in unread:
        say(one_line(f"{run.name}: left out: {run.problem}"))
    return bool(unread)


def _names(jobs: Sequence[WatchedJob]) -> list[str]:
    return [one_line(f"{job.ref} {job.name}".rstrip()) for job in jobs]


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
