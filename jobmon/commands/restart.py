"""``jobmon restart``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    add_job,
    is_confirmed,
    open_context,
    positive,
    require_terminal,
    stdout_console,
)
from jobmon.errors import UsageError, say
from jobmon.views.restarts import plan_lines
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.restarts.by_hand import drill, drillable, plan_restart, restart
from jobmon_core.app.restarts.lineages import end, hold, lineage_of
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from jobmon_core.context import Context

DESCRIPTION = """\
Submit the next attempt of a job that has ended: what it ran, in its folder, with its newest complete
checkpoint in the variable JOBMON_RESUME_FROM, and the step in JOBMON_RESUME_STEP; the program must use them.
jobmon shows what it will submit and asks for confirmation. A job that was submitted with --restart gets the
recorded script, options and environment. Any other gets the script and options that `jobmon rerun` would
submit, and the environment of this shell. JOB may be any attempt; the newest one is continued.

With --off, --hold or --release, nothing is submitted, and the job that runs is left alone: these change
whether jobmon itself submits the next attempt after the end of a job submitted with --restart.

With --drill, a restart is tried out: the first attempt is cancelled once it has saved a complete checkpoint.
jobmon then restarts it as after a failure, and --drill tells whether attempt 1 resumed there."""
EPILOG = """\
`restart` refuses a job that is not known to have ended, since two attempts must never run at the same time,
an array or het job, and a checkpoint that is not certainly complete. jobmon restarts a job by itself only if
it was submitted with --restart; an attempt that was submitted by hand for another one is only watched.

The exit code is 0 if the attempt was submitted, the change was made, or the drill shows a resume; else 1.

examples:
  jobmon restart 8123
  jobmon restart 8123 --from out/checkpoint-4000
  jobmon restart --dry-run 8123         shows what it would submit
  jobmon restart --yes 8123             does not ask; required if stdin is not a terminal
  jobmon restart --hold 8123            keep it from being restarted for now
  jobmon restart --release 8123
  jobmon restart --off 8123             no restarts any more
  jobmon restart --drill --at 500 8123  does it resume? waits for a checkpoint of step 500 or later"""


def add_arguments(parser: Parser) -> None:
    add_job(parser)
    parser.add_argument(
        "--from", dest="from_", default="", metavar="CHECKPOINT", help="resume from this checkpoint"
    )
    add_flags(
        parser,
        dry_run="only show what would be submitted",
        yes="do not ask",
    )
    change = parser.add_mutually_exclusive_group()
    add_flags(
        change,
        off="end its restarts, and delete what is kept to submit it again",
        hold="let the next restart wait for --release",
        release="undo --hold",
        drill="cancel the first attempt once it has saved; see the second resume",
    )
    parser.add_argument(
        "--at", type=positive, default=0, metavar="STEP", help="with --drill: the step to be saved before"
    )


def run(options: Options) -> int:
    ctx = open_context()
    if options.off or options.hold or options.release:
        if options.from_ or options.dry_run:
            raise UsageError("--off, --hold and --release submit nothing: leave out --from and --dry-run")
        _change(ctx, options)
        return 0
    if options.at and not options.drill:
        raise UsageError("--at is only for --drill")
    require_terminal(is_confirmed=options.yes or options.dry_run)
    if options.drill:
        return _drill(ctx, options)
    plan = plan_restart(ctx, options.job, options.from_)
    print(*plan_lines(plan, stdout_console()), sep="\n", file=sys.stderr, flush=True)
    if options.dry_run:
        return 0
    if not (options.yes or is_confirmed("Submit it?", "nothing was submitted")):
        return 1
    result = restart(ctx, plan, say)
    newest = ctx.lineages.load(plan.lineage.id).attempt(plan.number)
    if newest is None:
        raise JobmonError(f"attempt {plan.number} was not submitted: {result.why}")
    ANSWERS.append(Watched(newest.job, newest.state_id))
    print(f"job {newest.job} is attempt {plan.number} of the lineage of job {plan.lineage.attempts[0].job}")
    return 0


def _change(ctx: Context, options: Options) -> None:
    summary = lineage_of(ctx, options.job)
    lineage = summary.lineage
    if options.off:
        end(ctx, lineage.id)
        what = "is not restarted any more"
    else:
        hold(ctx, lineage.id, is_held=options.hold)
        what = "may be restarted again"
        if options.hold:
            what = "is not restarted until `--release`"
    newest = options.job
    if lineage.newest:
        newest = lineage.newest.job
    print(f"job {newest} {what}; it is watched as before")


def _drill(ctx: Context, options: Options) -> int:

    lineage = lineage_of(ctx, options.job).lineage
    job, _ = drillable(ctx, lineage)
    question = f"Cancel job {job.ref} once it has saved, to try out a restart?"
    if not (options.yes or is_confirmed(question, "nothing was cancelled")):
        return 1
    return int(not drill(ctx, lineage.id, options.at, say))
