"""``jobmon rerun``: submit again what a job ran, after the user has confirmed it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, is_confirmed, open_context, stdout_console
from jobmon.errors import UsageError, say
from jobmon.views.runs import rerun_lines
from jobmon_core.app.runs.rerun import in_recorded_folder, plan_rerun
from jobmon_core.app.submit import SubmitJob
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from jobmon_core.app.runs.rerun import RerunPlan
    from jobmon_core.context import Context

DESCRIPTION = """\
Submit again what a job ran: the recorded script, with its options and arguments, in the folder that the job
was submitted from. The text of the script is the recorded one even if the file has changed since; jobmon
says so, and shows the change. Everything else is used in its current state: the environment, the modules,
the programs that the script starts. jobmon shows what it will submit, warns if the job is not known to have
ended, asks for confirmation, submits it as `jobmon submit` does, and watches the new job. sbatch options
after JOB are added and override the recorded ones."""
EPILOG = """\
`rerun` refuses jobs that jobmon did not submit. jobmon keeps no copy of a script that is longer than 1 MiB or
contains what looks like a password; `rerun` refuses such a job if the file has changed or is gone since, or
if the script came from stdin. jobmon also keeps neither --comment nor the values of --export of the
command line: give --export again. The new job gets no sentinel, even if the old one had one; jobmon says so.

examples:
  jobmon rerun 8123
  jobmon rerun latest --time=24:00:00 --exclude=n17
  jobmon rerun --yes 8123               does not ask; required if stdin is not a terminal"""
_YES = "--yes"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "jobmon rerun [--yes] JOB [SBATCH-OPTIONS]"
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("job", metavar="JOB", help=JOB_HELP)
    parser.add_argument(
        "sbatch_options",
        nargs=argparse.REMAINDER,
        metavar="SBATCH-OPTIONS",
        help="sbatch options, which override the recorded ones",
    )
    parser.add_argument(_YES, action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """Show the plan, ask, submit. Return the exit code of sbatch, or 1 if the user declined."""
    sbatch_options = [each for each in options.sbatch_options if each != _YES]  # sbatch has no such option
    is_already_confirmed = options.yes or len(sbatch_options) < len(options.sbatch_options)
    if not is_already_confirmed and not sys.stdin.isatty():
        raise UsageError("stdin is not a terminal, so jobmon cannot ask: add --yes")
    ctx = open_context()
    plan = plan_rerun(ctx, options.job, sbatch_options)
    print(*rerun_lines(plan, stdout_console()), sep="\n", file=sys.stderr, flush=True)
    if not (is_already_confirmed or is_confirmed("Submit it?", "nothing was submitted")):
        return 1
    return _submit(ctx, plan)


def _submit(ctx: Context, plan: RerunPlan) -> int:
    starter = MonitorStarter(ctx)
    submit_job = SubmitJob(
        ctx,
        starter,
        say,
        add_sentinel=None,
        job_config=plan.job_config,
        no_agent=plan.no_agent,
        script_path=plan.script.path,
    )
    try:
        with in_recorded_folder(ctx, plan) as arguments:
            code = submit_job.submit(plan.backend, arguments)
    finally:
        starter.discard()
    return code if code >= 0 else 128 - code  # as a shell reports a death by a signal
