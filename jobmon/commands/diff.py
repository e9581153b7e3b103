"""``jobmon diff``."""

from __future__ import annotations

from jobmon.commands.common import Options, Parser, add_job, add_json, open_context, print_result
from jobmon.views.restarts import diff_json, diff_lines
from jobmon_core.app.runs.diff import LAST_GOOD, diff_runs

DESCRIPTION = """\
Name what changed since a job last worked: its script, arguments and options, the files that the script
names, the git commit and uncommitted changes, Python packages, environment modules and variables, the node,
the partition, the time limit, and new kinds of lines in its log. By default, the job is compared with the
newest earlier success of the same name and script. Only what differs is shown. `jobmon submit` records all
this; for a job that jobmon did not submit, only its script, node, partition, time limit and log are known."""
EPILOG = """\
For environment variables, jobmon keeps only the name and a digest of the value: it can say that a value
changed, never what it is. Packages are those of the environment that the script activates (`source
.../bin/activate`, `conda activate NAME`), else those of the one that was active at submission.

--json prints one object:

  job_id, other, is_last_good
             the jobs; whether the other is the newest earlier success
  differences
             a list: aspect (script, arguments, options, files, commit,
             uncommitted, packages, python, modules, environment, folder,
             partition, time limit, scheduler, node), brief, lines
  changed_while_running
             paths of files that the script names and that changed
             while the job ran
  new_log_lines, more_new_kinds
             the first line of each new kind; how many more kinds there
             are
  notes      what could not be compared

examples:
  jobmon diff 8123
  jobmon diff latest
  jobmon diff 8123 8101
  jobmon diff train last-good --json"""


def add_arguments(parser: Parser) -> None:
    add_job(parser)
    parser.add_argument(
        "other",
        nargs="?",
        default=LAST_GOOD,
        metavar="OTHER",
        help=f"another job, or {LAST_GOOD} (the default): the newest earlier success",
    )
    add_json(parser)


def run(options: Options) -> int:
    found = diff_runs(open_context(), options.job, options.other)
    print_result(options, diff_json, diff_lines, found)
    return 0
