"""``jobmon rerun``."""

from __future__ import annotations

import argparse
import sys

from jobmon.commands.common import (
    Options,
    Parser,
    add_job,
    is_confirmed,
    open_context,
    require_terminal,
    stdout_console,
)
from jobmon.errors import say
from jobmon.views.restarts import rerun_lines
from jobmon_core.app.runs.recorded import in_recorded_folder
from jobmon_core.app.runs.rerun import plan_rerun
from jobmon_core.app.submit import SubmitJob

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


def add_arguments(parser: Parser) -> None:
    parser.usage = "jobmon rerun [--yes] JOB [SBATCH-OPTIONS]"
    add_job(parser)
    parser.add_argument(
        "sbatch_options",
        nargs=argparse.REMAINDER,
        metavar="SBATCH-OPTIONS",
        help="sbatch options, which override the recorded ones",
    )
    parser.add_argument(_YES, action="store_true", help="do not ask")


def run(options: Options) -> int:
    sbatch_options = [each for each in options.sbatch_options if each != _YES]  # sbatch has no such option
    is_already_confirmed = options.yes or len(sbatch_options) < len(options.sbatch_options)
    require_terminal(is_confirmed=is_already_confirmed)
    ctx = open_context()
    plan = plan_rerun(ctx, options.job, sbatch_options)
    print(*rerun_lines(plan, stdout_console()), sep="\n", file=sys.stderr, flush=True)
    if not (is_already_confirmed or is_confirmed("Submit it?", "nothing was submitted")):
        return 1
    with in_recorded_folder(ctx, plan.recorded) as arguments:
        return SubmitJob(ctx, say, plan.request(arguments)).submission().shell_code
