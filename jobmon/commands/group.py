"""``jobmon group``; `group_verbs` has its verbs."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, Options, Parser, add_flags, add_verb, natural, period_s, positive
from jobmon_core.domain.many.groups.model import DEFAULT_INTERVAL_S, MemberMessages

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon.commands.common import Verbs

DESCRIPTION = """\
A group is a set of jobs that belong together, such as a sweep: one table, one log, one message when
all of them have ended. Its jobs are watched like any others.

A group is made by the first `add`, by `submit`, or by `jobmon submit --group`. It
is over when each of its jobs has ended or can never start; a job that is added later opens it again."""
EPILOG = """\
A file of runs maps a name to the arguments of sbatch, or to the id of a job, in YAML or JSON:

  r8_lr1e-5/capitalization/epoch0: --gres=gpu:1 eval.sbatch --epoch 0
  r8_lr1e-5/capitalization/epoch1: [eval.sbatch, --epoch, 1]
  r8_lr1e-5/country/epoch0: 12345690

jobmon never writes to it: what it knows about the runs is in state/groups/NAME.json. If the file has a
key `runs`, the names are below it, and the rest is not read.

examples:
  jobmon group submit sweep1 runs.yaml --then 'python collect.py'
  jobmon submit --group sweep1 train.sbatch --lr 0.1
  jobmon group add evals 8123 8124      add jobs; watches them if nothing does
  jobmon group add evals --name 'eval*' add those of your queue with such a name
  jobmon group status sweep1
  jobmon group wait sweep1 --for 590s   exit codes: see `jobmon wait --help`
  jobmon group log sweep1 -f
  jobmon group resubmit-failed sweep1 --time=8:00:00
  jobmon group cancel sweep1            asks first; --yes does not

`jobmon group VERB --help` shows the options of a verb."""
_MIN_INTERVAL_S = 5.0  # as for `poll.running_s`
_SETTINGS = """\
The options of the group stay as they are unless they are given again."""
_RELEASE = """\
Release the pending jobs of a group, whether held or not: which of them are held may have changed since jobmon
last asked Slurm."""
_STATUS_JSON = """\
--json prints an object: group, created_at, complete_at (Unix seconds; null while it is not over), total,
interval_s, messages, then (a list), then_started_at and then_result (null before), broken (why the sweep
looks broken, or an empty text), log and summary (paths), counts (number of runs by state) and runs, a
list: run, submitted, and for a submitted run the keys of `jobmon status --json`, nodes (of the job's
tasks) and problem (why its state file cannot be read; then the other keys are missing)."""


def add_arguments(parser: Parser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _add_editing(verbs)
    _add_looking(verbs)
    _add_changing(verbs)
    _verb(verbs, "forget", "remove a group; its jobs and its log remain", "forget")


def run(options: Options) -> int:
    from jobmon.commands import group_verbs  # not for the help

    verb: Callable[[Options], int] = getattr(group_verbs, options.verb)
    return verb(options)


def _verb(verbs: Verbs, name: str, summary: str, command: str, *, has_name: bool = True) -> Parser:
    """Add the parser of a verb; ``command`` is its function in `group_verbs`."""
    parser = add_verb(verbs, name, summary, verb=command)
    if has_name:
        parser.add_argument("name", metavar="NAME", help="the name of the group")
    return parser


def _add_editing(verbs: Verbs) -> None:
    adding = _verb(verbs, "add", "add jobs to a group, which is made if there is none", "add")
    adding.add_argument("job", nargs="*", metavar="JOB", help=JOB_HELP)
    adding.add_argument(
        "--name",
        dest="glob",
        metavar="GLOB",
        help="add the jobs with such a name that are pending or running, e.g. 'eval*'",
    )
    adding.add_argument(
        "--as", dest="run", metavar="RUN", help="the name of the run (default: the job's name)"
    )
    _add_settings(adding)
    submitting = _verb(verbs, "submit", "submit the runs of a file, each once", "submit")
    submitting.description = """\
Submit the runs of a file, each from the folder of that file, and watch them. Runs that were submitted before
are skipped, so the command can be repeated: after Ctrl-C, a reboot or a limit of Slurm, or with more
runs in the file. If the submission of a run was cut off, jobmon first looks for its job in Slurm."""
    submitting.add_argument("file", type=Path, metavar="FILE", help="the file of runs, in YAML or JSON")
    submitting.add_argument("--backend", metavar="NAME", help="slurm, local or pbs (default: as configured)")
    add_flags(
        submitting,
        retry_unclear="also submit runs for which jobmon cannot tell whether they were submitted; they may "
        "run twice",
    )
    _add_settings(submitting)


def _add_settings(parser: Parser) -> None:
    settings = parser.add_argument_group("options of the group", _SETTINGS)
    settings.add_argument(
        "--interval",
        dest="interval_s",
        type=_interval_s,
        metavar="TIME",
        help="how often Slurm is asked about its jobs, and a STATUS_CHECK is written to its log; replaces "
        f"poll.running_s and poll.pending_s (default: {DEFAULT_INTERVAL_S:g}s)",
    )
    settings.add_argument(
        "--messages",
        type=MemberMessages,
        choices=tuple(MemberMessages),
        metavar="all|failures|none",
        help="which of its jobs are reported by a message of their own, besides the one about the whole "
        "group (default: failures)",
    )
    settings.add_argument(
        "--then",
        type=_command,
        metavar="COMMAND",
        help="run this program once, without a shell, when all jobs are over, for at most an hour; it gets "
        "the summary on stdin, and its output goes to logs/group-NAME.then.log",
    )
    settings.add_argument(
        "--stop-after",
        type=natural,
        metavar="N",
        help="report a sweep as broken when N jobs fail in the same way within a minute of their start; "
        "0: never (default: 3)",
    )
    settings.add_argument(
        "--hold-when-broken",
        action="store_true",
        default=None,
        help="then also hold the pending jobs of the group",
    )


def _add_looking(verbs: Verbs) -> None:
    looking = _verb(verbs, "status", "list the runs of a group", "status")
    looking.epilog = _STATUS_JSON
    add_flags(looking, json="print a JSON object, as described below")
    listing = _verb(verbs, "list", "list all groups", "list_groups", has_name=False)
    add_flags(
        listing, json="print a JSON list: group, created_at, complete_at, total (number of runs) and counts"
    )
    waiting = _verb(verbs, "wait", "wait until all jobs of a group are over", "wait")
    waiting.add_argument(
        "--for", dest="at_most_s", type=period_s, metavar="TIME", help="wait no longer than this"
    )
    add_flags(waiting, json="print JSON; see `jobmon wait --help`")
    log = _verb(verbs, "log", "print the log of a group", "log")
    log.add_argument("-n", "--lines", type=positive, metavar="N", help="only the last N lines")
    log.add_argument("-f", "--follow", action="store_true", help="go on until all jobs are over, or Ctrl-C")


def _add_changing(verbs: Verbs) -> None:
    changes = {
        "cancel": "cancel the jobs of a group that have not ended",
        "hold": "hold the pending jobs of a group",
        "release": "release the pending jobs of a group",
    }
    for name, summary in changes.items():
        changing = _verb(verbs, name, summary, "change_runs")
        changing.set_defaults(change=name)
        if name == "release":
            changing.description = _RELEASE
        _add_yes(changing)
    again = _verb(verbs, "resubmit-failed", "submit the failed runs of a group again", "resubmit_failed")
    again.usage = "jobmon group resubmit-failed [--yes] [--retry-unclear] NAME [SBATCH-OPTIONS]"
    again.description = """\
Submit the failed runs of a group again, as `jobmon rerun` does: the recorded scripts, with their options and
arguments; of an array, only the failed tasks. The new jobs take the places of the old ones in the
group. sbatch options after NAME are added and override the recorded ones."""
    again.add_argument(
        "sbatch_options",
        nargs=argparse.REMAINDER,
        metavar="SBATCH-OPTIONS",
        help="sbatch options for all of them, e.g. --time=8:00:00",
    )
    add_flags(
        again, retry_unclear="also submit runs for which jobmon cannot tell whether they were submitted again"
    )
    _add_yes(again)


def _add_yes(parser: Parser) -> None:
    add_flags(parser, yes="do not ask")


def _interval_s(text: str) -> float:
    seconds = period_s(text)
    if seconds < _MIN_INTERVAL_S:
        raise argparse.ArgumentTypeError(f"it must be {_MIN_INTERVAL_S:g}s or longer")
    return seconds


def _command(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a command: {error}") from error
    if not words:
        raise argparse.ArgumentTypeError("the command is empty")
    return words
