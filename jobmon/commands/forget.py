"""``jobmon forget``, also called ``prune``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    JOB_HELP,
    Errors,
    Options,
    Parser,
    add_flags,
    is_confirmed,
    open_context,
    period_s,
)
from jobmon.errors import UsageError, say
from jobmon.views.model import stamp
from jobmon_core.app.jobs.find import find_ref, last_change_s, no_record
from jobmon_core.app.jobs.forget import forget, forget_runs, prune
from jobmon_core.app.messages.undelivered import drop_given_up
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.health import find_watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.jobs.forget import Removal
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef

DESCRIPTION = """\
Remove jobmon's records of the jobs you name, if they have ended or `jobmon cancel` stopped watching them:
the state file, the log of the monitor, diagnostics bundles, measurements and your notes. The job's own
output is not touched. The records of a job that is still watched, or that has ended but has an undelivered
message, are kept, and jobmon says what to do first. What its runs took stays in the history, unless you add
--history.

With --older-than instead, remove the records of all jobs that ended, or that you stopped watching, longer ago
than that. Those with an outage whose end is not reported yet are kept, too. On a terminal, it asks first."""
EPILOG = """\
examples:
  jobmon forget 8123
  jobmon forget 8123 8124
  jobmon forget train                   the newest job of that name
  jobmon forget --given-up 8123         even if its message was never delivered
  jobmon forget --messages              given-up messages of no single job, e.g. of a group
  jobmon forget --history 8123          also from the history, even if it was forgotten before
  jobmon forget --older-than 30d --dry-run
  jobmon forget --older-than 30d --yes  without a question

`jobmon prune` is another name of this command."""
_NAMES_SHOWN = 5
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB", help=JOB_HELP)
    add_flags(
        parser,
        given_up="drop messages that jobmon gave up sending",
        messages="drop messages of no single job that jobmon gave up sending",
        history="also delete their runs from the history",
    )
    parser.add_argument(
        "--older-than", type=period_s, metavar="TIME", help="e.g. 36h, 30d or 8w; m stands for minutes"
    )
    add_flags(
        parser,
        dry_run="with --older-than: only list what would be removed",
        yes="with --older-than: do not ask",
    )


def run(options: Options) -> int:
    if options.older_than is not None:
        if options.job or options.given_up or options.messages:
            raise UsageError("--older-than is about all jobs: name none, and use no --given-up or --messages")
        return _forget_old(options)
    if not (options.job or options.messages):
        raise UsageError("name a job, or add --messages or --older-than")
    ctx, errors = open_context(), Errors()
    for title in drop_given_up(ctx) if options.messages else ():
        print(one_line(f"message {title!r}: dropped"))
    for argument in options.job:
        with errors.reported():
            ref = find_ref(ctx, argument)
            if options.history and not find_watched(ctx, ref):
                _forget_runs(ctx, [(ref, "")], no_record(ref))
                continue
            removed = [*_forget(ctx, ref, options, errors)]
            if options.history and removed:
                _forget_runs(ctx, removed)
    return errors.exit_code


def _forget(ctx: Context, ref: JobRef, options: Options, errors: Errors) -> Iterator[tuple[JobRef, str]]:
    for removal in forget(ctx, ref, drop_given_up=options.given_up):
        if removal.removed and removal.job:
            print(one_line(f"{removal.subject}: forgotten; the job's own output is not touched"))
            yield removal.job.ref, removal.job.id
        else:
            _say_kept(removal)
            errors.add(1)


def _forget_runs(ctx: Context, jobs: list[tuple[JobRef, str]], unknown: str = "") -> None:
    """Delete runs of jobs from the history; raise UnknownJob if there is none and ``unknown`` is a text."""
    number = forget_runs(ctx, jobs)
    if unknown and not number:
        raise UnknownJob(f"{unknown}, and none of its runs is in the history")
    print(f"history: {count(number, 'run')} deleted")


def _forget_old(options: Options) -> int:
    """Remove the records and print each job; return 1 if the user declined."""
    ctx, removed = open_context(), 0
    asks = sys.stdin.isatty() and not (options.dry_run or options.yes)
    if asks and not _is_confirmed(ctx, options.older_than):
        return 1
    done, verb = "removed", "removed"
    if options.dry_run:
        done, verb = "would remove", "would be removed"
    jobs: list[tuple[JobRef, str]] = []
    for removal in prune(ctx, options.older_than, dry_run=options.dry_run):
        if removal.removed:
            removed += 1
            jobs += [(removal.job.ref, removal.job.id)] if removal.job else []
            print(one_line(f"{done}: {_described(removal)}"))
        else:
            _say_kept(removal)
    print(f"records of {count(removed, 'job')} {verb}" if removed else "nothing to remove")
    if options.history and jobs and not options.dry_run:
        _forget_runs(ctx, jobs)
    return 0


def _say_kept(removal: Removal) -> None:
    say(one_line(f"{removal.subject}: not removed: {removal.kept_because}"))


def _is_confirmed(ctx: Context, older_than_s: float) -> bool:
    """Return whether to go on; ask if there are records to remove.

    The question spells the period out: 1m may have been meant as a month.
    """
    names = [removal.subject for removal in prune(ctx, older_than_s, dry_run=True) if removal.removed]
    if not names:
        return True
    period = next(
        count(int(older_than_s // unit_s), name) for name, unit_s in _UNITS if not older_than_s % unit_s
    )
    jobs = one_line(f"{count(len(names), 'job')} ({listed(names, _NAMES_SHOWN)})")
    return is_confirmed(f"Remove the records of {jobs}, older than {period}?", "nothing was removed")


def _described(removal: Removal) -> str:
    if removal.job is None:
        return removal.subject
    ended = stamp(last_change_s(removal.job), "%Y-%m-%d")
    return f"{removal.subject}, {removal.job.outcome or 'no longer watched'}, {ended}"
