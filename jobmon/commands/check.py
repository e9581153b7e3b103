"""``jobmon check``: look for what would make a job fail, before it is submitted."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Parser,
    add_flags,
    add_json,
    console_of,
    jobmon_command,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.commands.job_options import seconds
from jobmon.commands.restart_options import RESTART, SET_ASIDE, TAKES, leading_options, restart_change
from jobmon.errors import UsageError, say
from jobmon.views.checks import check_lines, checks_json, problem_lines
from jobmon_core.app.checks.check import CheckSubmission
from jobmon_core.context import backend_names
from jobmon_core.domain.before.checks.check_all import check_all
from jobmon_core.domain.finding import Severity, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.job.job_settings import JobSettings

DESCRIPTION = """\
Look for what would make a job fail, or waste its time, before it is submitted: the script and its options,
what Slurm says (sbatch --test-only), files and folders, space, GPUs against workers, the time limit,
checkpoints, exit codes, packages and variables, earlier runs and their nodes. Without
--on-node, nothing is submitted and no line of the script is run."""
EPILOG = """\
The command line is that of `jobmon submit`: its options and those below come first, sbatch options before
the script; --all, --json, --on-node and --restart may also come last. The exit code is 0 if all is well, 1
with warnings, 2 with failures.

--on-node also submits a short job with the script's partition, account, QOS and GPUs, waits for it, and adds
what only a compute node can show: imports, CUDA and its driver, GPU memory, network. The job runs only the
lines that set up the environment (export, module load, conda activate, source venv/bin/activate), not your
programs. Ctrl-C cancels it.

--restart adds what would make a restart fail: checkpoints on a disk of the node, a program that is not told
where to resume, saves that are too rare, and others that start the job again. A job configuration that turns
restarts on implies it.

--json prints one object:
  exit_code   0, 1 or 2
  failed, warned
              how many items failed, and how many warned
  items       a list: id, status (fail, warn, pass, not_applicable), text,
              advice (what to do; may be empty)

examples:
  jobmon check train.sbatch
  jobmon check --gres=gpu:4 -t 02:00:00 train.sbatch --epochs 3
  jobmon check --on-node train.sbatch
  jobmon check train.sbatch --json | jq '.items[] | select(.status == "fail")'
  jobmon check --backend pbs -l select=1:ncpus=4 train.pbs
  jobmon submit --checked train.sbatch"""
_FLAGS = ("--all", "--json", "--on-node", RESTART)
_VALUED = ("--backend", "--wait")
_ABOUT_RESTARTS = (SET_ASIDE, *TAKES)
_OF_SUBMIT = ("--sentinel", "--no-agent", "--checked"), ("--group", "--job-config", RESTART, *TAKES)
_WAIT_S = 120.0


def add_arguments(parser: Parser) -> None:
    """Declare the options for the help, the completion and the manual; `_own_options` parses them."""
    parser.usage = "jobmon check [JOBMON-OPTIONS] [SBATCH-OPTIONS] FILE [ARGS]"
    add_flags(parser, all="also show what is in order, and what does not apply")
    parser.add_argument(
        "--backend",
        choices=("slurm", "local", "pbs"),
        metavar="NAME",
        help="slurm, local or pbs, with the options of qsub and #PBS lines (default: the configured one)",
    )
    add_json(parser)
    add_flags(parser, on_node="also check a compute node, with a job of a few seconds")
    parser.add_argument(
        RESTART, action="store_true", help="also check whether `submit --restart` could resume the job"
    )
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        help="with --on-node: how long its job may be pending before it is cancelled "
        f"(default: {_WAIT_S:.0f})",
    )
    parser.add_argument(
        "script", nargs="*", metavar="FILE", help="the batch script, with its own arguments after it"
    )


def run(arguments: Sequence[str]) -> int:
    """Check a submission; return 0, 1 (warnings) or 2 (failures)."""
    if {"-h", "--help"} & set(arguments[:1]):
        from jobmon.parser import command_parser

        command_parser("check").print_help()
        return 0
    rest = list(arguments)
    flags, valued = _OF_SUBMIT
    given = leading_options(rest, (*_FLAGS, SET_ASIDE, *flags), (*_VALUED, *valued))
    while rest and rest[-1] in _FLAGS:  # they may come last, too
        given[rest.pop()] = "on"
    backend, wait_s = _known_backend(given.get("--backend")), _wait_s(given.get("--wait"))
    ctx = open_context()
    about_restarts = {name: given[name] for name in _ABOUT_RESTARTS if name in given}
    change = restart_change(given.get(RESTART), about_restarts)
    job_config = given.get("--job-config", "")
    submission = CheckSubmission(ctx, jobmon_command(), change=change, job_config=job_config)
    facts = submission.facts(backend, rest)
    items = check_all(facts)
    if "--on-node" in given and not facts.unknown_option:
        from jobmon_core.app.checks.on_node import CheckNode

        items += tuple(CheckNode(ctx, say).check(submission.backend(backend), facts, wait_s))
    if "--json" in given:
        print_json(checks_json(items))
    else:
        print_lines(check_lines(items, stdout_console(), shows_all="--all" in given))
    return int(worst(items))


def refuses(
    backend: str,
    arguments: Sequence[str],
    change: Callable[[JobSettings], JobSettings] | None = None,
    job_config: str = "",
) -> bool:
    """Return whether an item fails; what fails or warns is shown on stderr."""
    submission = CheckSubmission(open_context(), jobmon_command(), change=change, job_config=job_config)
    items = submission.check(backend, arguments)
    for line in problem_lines(items, console_of(sys.stderr)):
        print(line, file=sys.stderr)
    is_refused = worst(items) is Severity.CRITICAL
    if is_refused:
        say("nothing was submitted; `jobmon check --all` shows the whole list")
    return is_refused


def _known_backend(name: str | None) -> str | None:
    if name is not None and name not in backend_names():
        raise UsageError(f"--backend takes one of {', '.join(backend_names())}, not {name!r}")
    return name


def _wait_s(text: str | None) -> float:
    if text is None:
        return _WAIT_S
    try:
        return seconds(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"--wait: {error}") from error
