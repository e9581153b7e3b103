"""``jobmon group cancel``, ``hold``, ``release`` and ``resubmit-failed``: each asks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import is_confirmed, open_context, require_terminal, result_text
from jobmon.commands.groups.editing import submit_all
from jobmon.errors import say
from jobmon_core.app.groups.jobs import (
    Change,
    alive_jobs,
    change_jobs,
    failed_indices,
    failed_runs,
    pending_jobs,
    runs_of,
)
from jobmon_core.app.groups.submit_runs import Run, SubmitRuns
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.slurm.job_ids import compact
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.context import Context

_SHOWN = 6  # jobs or runs that a question names
_WORDS = {Change.CANCEL: "cancelled", Change.HOLD: "held", Change.RELEASE: "released"}
_OWN = _YES, _RETRY = "--yes", "--retry-unclear"


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
        if unread:
            return 1
        return 0
    runs, exit_code = _planned(ctx, failed, words)
    exit_code = max(exit_code, 1 if unread else 0)
    if not runs:
        return exit_code
    names = listed([run.name for run in runs], _SHOWN)
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
        runs.append(
            Run(each.name, plan.recorded, plan.request(plan.recorded.arguments), each.member.state_id)
        )
    return runs, exit_code


def change_runs(options: argparse.Namespace) -> int:
    """Ask, and cancel the jobs that have not ended, or hold or release the pending ones.

    Jobs are released whether held or not: the record of one that was held just now may not show it. Return 1
    if a state file cannot be read, the scheduler refused, or the user declined.
    """
    change = Change(options.change)
    require_terminal(is_confirmed=options.yes)
    ctx = open_context()
    group = ctx.groups.load(options.name)
    runs = runs_of(ctx, group)
    jobs = alive_jobs(runs) if change is Change.CANCEL else pending_jobs(runs)
    exit_code = 0
    if _say_unread(runs, (None,)):
        exit_code = 1
    if not jobs:
        kind = "pending job"
        if change is Change.CANCEL:
            kind = "job that has not ended"
        say(f"group {group.name} has no {'other ' if exit_code else ''}{kind}; nothing was changed")
        return exit_code
    if not options.yes:
        names = [one_line(f"{job.ref} {job.name}".rstrip()) for job in jobs]
        say(f"{change} {count(len(jobs), 'job')} of group {group.name}: {listed(names, _SHOWN)}")
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
