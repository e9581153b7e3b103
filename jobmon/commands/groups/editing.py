"""``jobmon group add``, ``submit`` and ``forget``."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobmon.commands.common import open_context, result_text
from jobmon.commands.results import Errors
from jobmon.errors import UsageError, say
from jobmon_core.app.groups.edit import add_job, open_group, queued_jobs
from jobmon_core.app.groups.submit_runs import SubmitRuns, plan_file
from jobmon_core.app.jobs.find import find_ref
from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jobmon_core.app.groups.submit_runs import Run, RunResult
    from jobmon_core.context import Context
    from jobmon_core.domain.many.groups.model import GroupSettings
    from jobmon_core.domain.slurm.job_ids import JobRef


def add(options: argparse.Namespace) -> int:
    """Add jobs, even after an error while adding another one; return the highest exit code.

    If jobmon knows no job of a given name, nothing is added.
    """
    ctx = open_context()
    names = dict.fromkeys((find_ref(ctx, each) for each in options.job), "")
    if options.glob is not None:
        names |= dict(queued_jobs(ctx, options.glob))
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


def submit(options: argparse.Namespace) -> int:
    """Submit the runs of a file, and add the jobs that it names by id; return 0 if all are in the group."""
    ctx = open_context()
    plan = plan_file(ctx, options.name, options.file, options.backend, _settings(options))
    exit_code = _add_known(ctx, options.name, plan.known)
    submitter = SubmitRuns(ctx, options.name, say, retry_unclear=options.retry_unclear)
    return max(exit_code, submit_all(submitter, plan.to_submit, options.name))


def submit_all(submitter: SubmitRuns, runs: Sequence[Run], group: str) -> int:
    """Submit runs and print what became of each; return 1 if one of them is not submitted."""
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
    parts += [f"{before} submitted before"] if before else []
    parts += [f"{left} not submitted; repeat the command to submit the rest"] if left else []
    say(f"group {group}: {', '.join(parts)}; `jobmon group status {group}` shows it")
    if left:
        return 1
    return 0


def forget(options: argparse.Namespace) -> int:
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


def _settings(options: argparse.Namespace) -> Callable[[GroupSettings], GroupSettings]:
    """Return the change of a group's settings that the options ask for."""
    names = ("interval_s", "messages", "then", "stop_after", "hold_when_broken")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    changes = {name: value for name, value in given.items() if value is not None}
    if options.then:
        changes["then_folder"] = str(Path.cwd())
    return lambda settings: replace(settings, **changes)


def _add_known(ctx: Context, name: str, known: Mapping[str, JobRef]) -> int:
    """Add the jobs that the file names by their ids; return the highest exit code."""
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
