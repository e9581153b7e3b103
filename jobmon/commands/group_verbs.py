"""The verbs of ``jobmon group``; those that change jobs ask first."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Errors,
    Options,
    is_confirmed,
    open_context,
    print_json,
    print_lines,
    require_terminal,
    result_text,
    stdout_console,
)
from jobmon.commands.wait import wait_for
from jobmon.errors import UsageError, say
from jobmon.views.groups import group_json, group_lines, list_json, list_lines
from jobmon_core.app.groups.jobs import (
    Change,
    add_job,
    alive_jobs,
    change_jobs,
    failed_indices,
    failed_runs,
    group_overview,
    open_group,
    pending_jobs,
    queued_jobs,
    runs_of,
)
from jobmon_core.app.groups.submit_runs import Run, SubmitRuns, plan_file
from jobmon_core.app.jobs.find import find_ref
from jobmon_core.app.jobs.output import begin_following
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.slurm.job_ids import compact
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobmon.views.model import Json
    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.app.groups.submit_runs import RunResult
    from jobmon_core.context import Context
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.slurm.job_ids import JobRef


def add(options: Options) -> int:
    """Add jobs, even after an error with another one; if one is not known by its name, add none."""
    ctx = open_context()
    names = dict.fromkeys((find_ref(ctx, each) for each in options.job), "")
    if options.glob is not None:
        names |= queued_jobs(ctx, options.glob)
    if options.run is not None and len(names) != 1:
        raise UsageError("--as names one job: give exactly one")
    is_new = open_group(ctx, options.name, _settings(options))
    if is_new:
        say(f"group {options.name} is new; `jobmon group status {options.name}` shows it")
    starter, errors = MonitorStarter(ctx, at_most=1), Errors()
    for ref, job_name in names.items():
        with errors.reported():
            run, is_added = add_job(ctx, starter, options.name, ref, options.run or "", job_name=job_name)
            print(result_text(f"{ref} {run}", "added" if is_added else "is in the group already"))
    return errors.exit_code


def submit(options: Options) -> int:
    """Submit the runs of a file, and add the jobs that it names by id."""
    ctx = open_context()
    to_submit, known = plan_file(ctx, options.name, options.file, options.backend, _settings(options))
    exit_code = _add_known(ctx, options.name, known)
    submitter = SubmitRuns(ctx, options.name, say, retry_unclear=options.retry_unclear)
    return max(exit_code, submit_all(submitter, to_submit, options.name))


def submit_all(submitter: SubmitRuns, runs: Sequence[Run], group: str) -> int:
    """Submit runs and print what became of each; return 1 if one is not submitted."""
    results: list[RunResult] = []
    with _deferred_interrupt() as is_interrupted:
        for result in submitter.submit(runs, is_interrupted):
            results.append(result)
            text = result_text(result.name, result.text)
            if result.is_submitted:
                print(text, flush=True)
            else:
                say(text)
    new = sum(each.is_new for each in results)
    before = sum(each.is_submitted and not each.is_new for each in results)
    left = len(runs) - new - before
    parts = []
    if new or not before:
        parts = [f"{count(new, 'run')} submitted"]
    if before:
        parts += [f"{before} submitted before"]
    if left:
        parts += [f"{left} not submitted; repeat the command to submit the rest"]
    say(f"group {group}: {', '.join(parts)}; `jobmon group status {group}` shows it")
    return int(left > 0)


def forget(options: Options) -> int:
    """Remove a group."""
    ctx = open_context()
    group = ctx.groups.load(options.name)
    ctx.groups.remove(options.name)
    log = ""
    if group.log.path:
        log = f"; its log stays in {group.log.path}"
    print(
        result_text(f"group {options.name}", f"removed; its {count(len(group.members), 'job')} remain{log}")
    )
    return 0


def _settings(options: Options) -> Callable[[GroupSettings], GroupSettings]:
    names = ("interval_s", "messages", "then", "stop_after", "hold_when_broken")
    given: Json = {name: getattr(options, name) for name in names}
    changes = {name: value for name, value in given.items() if value is not None}
    if options.then:
        changes["then_folder"] = str(Path.cwd())
    return lambda settings: replace(settings, **changes)


def _add_known(ctx: Context, name: str, known: Mapping[str, JobRef]) -> int:
    starter, errors = MonitorStarter(ctx, at_most=1), Errors()
    for run, ref in known.items():
        with errors.reported(f"{one_line(run)}: "):
            _, is_added = add_job(ctx, starter, name, ref, run)
            what = f"added, job {ref}" if is_added else f"is in the group already, as job {ref}"
            print(result_text(run, what), flush=True)
    return errors.exit_code


@contextmanager
def _deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C take effect only after the current submission; yield a function that says if it came."""
    pressed: list[int] = []

    def note(number: int, _frame: object) -> None:
        if not pressed:
            say("stopping after this run")
        pressed.append(number)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, previous)


_FOLLOW_INTERVAL_S = 1.0
_ALL_LINES = 1_000_000


def status(options: Options) -> int:
    ctx = open_context()
    group = ctx.groups.load(options.name)
    runs, now_s = runs_of(ctx, group), ctx.clock.now()
    known = group_overview(ctx, group, runs)
    if options.json:
        path = ctx.groups.summary_path(group.name)
        print_json(group_json(group, runs, known.progress, str(path) if path.exists() else None, now_s))
        return 0
    print_lines(group_lines(group, runs, known, now_s, stdout_console()))
    return 0


def list_groups(options: Options) -> int:
    """Print all groups; return 1 if the file of one cannot be read."""
    ctx, found, errors = open_context(), [], Errors()
    for name in ctx.groups.names():
        with errors.reported():
            group = ctx.groups.load(name)
            found.append((group, runs_of(ctx, group)))
    if options.json:
        print_json([list_json(group, runs) for group, runs in found])
    else:
        print_lines(list_lines(found, ctx.clock.now(), stdout_console()))
    return errors.exit_code


def wait(options: Options) -> int:
    """Wait until all jobs of a group are over."""
    ctx = open_context()
    ctx.groups.load(options.name)  # raises UnknownGroup: `wait_for` would take the name of a job, too
    return wait_for(ctx, [options.name], options.at_most_s, as_json=options.json)


def log(options: Options) -> int:
    """Print the log of a group; with ``--follow``, wait for one and go on until the group is over."""
    ctx = open_context()
    group = ctx.groups.load(options.name)
    path = group.log.path or str(ctx.home.group_log(group.name))
    text, follower = begin_following(path, options.lines or _ALL_LINES)
    if text.problem and not options.follow:
        say(one_line(f"group {group.name} has no log to show: {path} {text.problem}"))
        return 1
    _print(text.lines)
    while options.follow:
        is_over = ctx.groups.load(options.name).complete_s is not None
        _print(follower.read().lines)
        if is_over:
            break
        ctx.clock.wait(_FOLLOW_INTERVAL_S)
    return 0


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line, flush=True)


_SHOWN = 6  # jobs or runs that a question names
_WORDS = {Change.CANCEL: "cancelled", Change.HOLD: "held", Change.RELEASE: "released"}
_OWN = _YES, _RETRY = "--yes", "--retry-unclear"


def resubmit_failed(options: Options) -> int:
    """Submit the failed runs again; return 1 if one cannot be submitted, or the user declined."""
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
        return int(unread)
    runs, exit_code = _planned(ctx, failed, words)
    exit_code = max(exit_code, unread)
    if not runs:
        return exit_code
    names = listed([run.name for run in runs], _SHOWN)
    say(f"submitting {count(len(runs), 'failed run')} again: {names}")
    if not (is_sure or is_confirmed("Submit them?", "nothing was submitted")):
        return 1
    submitter = SubmitRuns(ctx, options.name, say, retry_unclear=retry_unclear)
    return max(exit_code, submit_all(submitter, runs, options.name))


def _planned(ctx: Context, failed: Sequence[GroupRun], words: Sequence[str]) -> tuple[list[Run], int]:
    """Return the runs to submit; report what cannot be submitted (exit code 1), and what has changed."""
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


def change_runs(options: Options) -> int:
    """Ask, and cancel the jobs that have not ended, or hold or release the pending ones.

    They are released whether held or not: the record of one that was held just now may not show it.
    """
    change = Change(options.change)
    require_terminal(is_confirmed=options.yes)
    ctx = open_context()
    group = ctx.groups.load(options.name)
    runs = runs_of(ctx, group)
    jobs = alive_jobs(runs) if change is Change.CANCEL else pending_jobs(runs)
    exit_code = int(_say_unread(runs, (None,)))
    if not jobs:
        kind = "job that has not ended" if change is Change.CANCEL else "pending job"
        say(f"group {group.name} has no {'other ' if exit_code else ''}{kind}; nothing was changed")
        return exit_code
    if not options.yes:
        names = [one_line(f"{job.ref} {job.name}".rstrip()) for job in jobs]
        say(f"{change} {count(len(jobs), 'job')} of group {group.name}: {listed(names, _SHOWN)}")
        if not is_confirmed(f"{change.capitalize()} them?", "nothing was changed"):
            return 1
    for refs, error in change_jobs(ctx, change, jobs):
        if error:
            say(one_line(error))
            exit_code = 1
        else:
            print(result_text(f"group {group.name}", f"{count(len(refs), 'job')} {_WORDS[change]}"))
    if change is Change.CANCEL and group.unsubmitted:
        say(f"group {group.name} keeps {count(len(group.unsubmitted), 'run')} not submitted yet")
    return exit_code


def _say_unread(runs: Sequence[GroupRun], outcomes: Sequence[Outcome | None]) -> bool:
    """Name the runs with such an outcome whose state files cannot be read; return whether there are any."""
    unread = [run for run in runs if run.problem and run.member.outcome in outcomes]
    for run in unread:
        say(one_line(f"{run.name}: left out: {run.problem}"))
    return bool(unread)
