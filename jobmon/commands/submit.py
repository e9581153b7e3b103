"""``jobmon submit``."""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

from jobmon.commands.restart_options import (
    CHECKPOINT_DIR,
    RESTART,
    SET_ASIDE,
    TAKES,
    add_restart_arguments,
    leading_options,
    restart_change,
)
from jobmon.errors import UsageError, interrupted, report, say
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.domain.backends import BY_TEXT, DEFAULT_BACKEND, is_ray
from jobmon_core.domain.errors import ConfigInvalid, Invalid, SchedulerMissing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from jobmon_core.context import Context

DESCRIPTION = """\
Submit a job exactly as sbatch does, then watch it in the background.
stdout and the exit code are those of sbatch. Options of jobmon come first; the first other
argument and everything after it are passed to sbatch unchanged."""
EPILOG = """\
examples:
  jobmon submit train.sbatch
  jobmon submit --gres=gpu:4 -p big -t 02:00:00 train.sbatch --epochs 3
  jobmon submit --wrap 'python train.py'
  jobmon submit --array=1-20%4 sweep.sbatch
  jobmon submit --sentinel -t 7-00 train.sbatch
  jobmon submit --checked train.sbatch
  jobmon submit --restart --resume-arg '--resume {path}' train.sbatch
  jobmon submit --group sweep1 train.sbatch --lr 0.1
  jobmon submit --backend local train.sbatch
  jobmon submit --backend pbs -l select=1:ncpus=4 -k oed train.pbs
  jobmon submit --backend ray --working-dir . -- python train.py --lr 0.1
  jobmon submit --backend kubernetes train.yaml"""


_NOT_SUBMITTED = 2  # as `jobmon check` reports failures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "jobmon submit [JOBMON-OPTIONS] [SBATCH-OPTIONS] FILE [ARGS]"
    parser.add_argument(
        "--backend",
        choices=("slurm", "local", "pbs", "ray", "kubernetes"),
        metavar="NAME",
        help='slurm, local, pbs, ray or kubernetes; "local" runs the script on this machine without Slurm, '
        '"pbs" passes all to qsub, "ray" runs a command on a Ray cluster, see `jobmon submit --backend ray '
        '--help`, "kubernetes" creates a Job, see `jobmon submit --backend kubernetes --help` (default: as '
        "configured, else slurm)",
    )
    parser.add_argument(
        "--sentinel",
        action="store_true",
        help="also submit a tiny job that starts when yours has ended and reports the end if the monitor "
        "is gone, e.g. because the login node is down",
    )
    parser.add_argument(
        "--no-agent",
        action="store_true",
        help="start nothing beside the job: no figures of its GPUs, memory and processes",
    )
    parser.add_argument(
        "--checked",
        action="store_true",
        help="first look for what would make the job fail, as `jobmon check` does; submit nothing if it "
        "finds a failure",
    )
    parser.add_argument(
        "--job-config",
        metavar="FILE",
        help="a YAML file about this job: its workers, logs, patterns and thresholds; see "
        "docs/configuration.md (default: jobmon.yaml beside the script, if there is one)",
    )
    parser.add_argument("--group", metavar="NAME", help="add the job to a group, see `jobmon help group`")
    add_restart_arguments(parser)
    parser.add_argument(CHECKPOINT_DIR, metavar="DIR", help="where the job saves its checkpoints")
    parser.add_argument(
        "script",
        nargs="*",
        metavar="FILE",
        help="the batch script; sbatch options come before it, its own arguments after it",
    )


def run(arguments: Sequence[str]) -> int:
    try:
        return _submit(list(arguments))
    except (Invalid, SchedulerMissing, UsageError) as error:  # each is raised before sbatch starts
        return report(error, "nothing was submitted: ")


def _submit(arguments: list[str]) -> int:
    request, is_checked = _read_options(arguments)
    if service := _service_of(request.backend):
        given = {"--sentinel": request.sentinel, "--checked": is_checked}
        return _submit_to_service(
            service, request, [option for option, is_given in given.items() if is_given]
        )
    rest = request.arguments
    if sys.stdin.isatty() and _reads_stdin(rest) and not _read_script():
        return interrupted("nothing was submitted")
    if is_checked:
        from jobmon.commands.check import refuses

        if refuses(request.backend, rest, request.restart, request.job_config):
            return _NOT_SUBMITTED
    from jobmon_core.app.submit import SubmitJob
    from jobmon_core.context import Context

    ctx = Context.open(os.environ)
    if rest[:1] in (("--help",), ("-h",)):
        return _help(ctx, request)
    submit_job = SubmitJob(ctx, say, request)
    submission = submit_job.submission()
    if submission.job:
        saved = submit_job.saved
        ANSWERS.append(Watched(str(submission.job.ref), saved.id if saved else ""))
    code = submission.shell_code
    if code and rest:
        _point_out_typo(rest[0])
    return code


def _submit_to_service(backend: str, request: SubmitRequest, refused: list[str]) -> int:
    if is_ray(backend):
        from jobmon.commands.submit_ray import submit_to_ray

        return submit_to_ray(request, refused)
    from jobmon.commands.submit_kubernetes import submit_to_kubernetes

    return submit_to_kubernetes(request, refused)


def _service_of(backend: str) -> str:
    """Return the backend whose submission has options of its own; empty if it takes those of sbatch."""
    if not backend:
        from jobmon_core.context import Context

        try:
            backend = Context.open(os.environ).configuration().backend
        except ConfigInvalid:  # `submit` reports it later; with `--checked`, the check does
            return ""
    return backend if backend in BY_TEXT else ""


def _reads_stdin(arguments: Sequence[str]) -> bool:
    # A word that is neither an option nor follows one is the script, or an argument of the script. Only other
    # command lines need the table of options, which takes long to import while the user waits.
    for previous, word in pairwise(("", *arguments)):
        follows_option = previous.startswith("-") and "=" not in previous
        if word.startswith("--wrap") or not (word.startswith("-") or follows_option):
            return False
    from jobmon_core.domain.slurm.sbatch_options import reads_stdin

    return reads_stdin(arguments)


def reads_script(arguments: Sequence[str]) -> bool:
    """Whether a submission on another machine takes its batch script from the stdin here.

    Raises:
        UsageError: an option is wrong.
        KeyboardInterrupt: the user ends the typing of a script.
    """
    request = _read_options(list(arguments))[0]
    if is_ray(request.backend) or not _reads_stdin(request.arguments):
        return False
    if sys.stdin.isatty() and not _read_script():
        raise KeyboardInterrupt
    return True


def _read_script() -> bool:
    """Make what the user types the new stdin; return False after Ctrl-C.

    sbatch could read it itself, but after Ctrl-C it would be unclear whether Slurm has received a job.
    """
    from jobmon_core.app.runs.recorded import replace_stdin  # rarely needed, and the user waits

    try:
        say("no script given: type it here, end with Ctrl-D (Ctrl-C submits nothing)")
        script = sys.stdin.buffer.read()
    except KeyboardInterrupt:
        return False
    replace_stdin(script)
    return True


def _help(ctx: Context, request: SubmitRequest) -> int:
    from jobmon.parser import command_parser
    from jobmon_core.app.submit import SubmitJob

    command_parser("submit").print_help(sys.stderr)
    print("\nThe help of sbatch follows.", file=sys.stderr, flush=True)
    request = request._replace(backend=request.backend or DEFAULT_BACKEND)
    try:
        code = SubmitJob(ctx, say, request).submission().shell_code
    except SchedulerMissing:
        say("sbatch is not on this machine, so it can't show its own help")
        return 0
    if code:
        say("sbatch could not show its help; `jobmon submit --backend local` needs no Slurm")
    return code


_FLAGS = ("--sentinel", "--no-agent", "--checked")
_TAKES = {"--job-config": "the path of a YAML file", "--group": "the name of a group", **TAKES}
_OWN_OPTIONS = ("--backend", RESTART, SET_ASIDE, *_FLAGS, *_TAKES)


def _read_options(arguments: list[str]) -> tuple[SubmitRequest, bool]:
    """Return what the user wants, and whether it is to be checked first."""
    values = leading_options(arguments, (*_FLAGS, SET_ASIDE, RESTART), ("--backend", RESTART, *_TAKES))
    for name, what in _TAKES.items():
        if values.get(name) == "":
            raise UsageError(f"{name} takes {what}")
    if "--backend" in values:
        _check_backend(values["--backend"])
    own = {name: values.pop(name, "") for name in ("--backend", "--job-config", "--group", *_FLAGS)}
    request = SubmitRequest(
        own["--backend"],
        tuple(arguments),
        own["--job-config"],
        group=own["--group"],
        sentinel=bool(own["--sentinel"]),
        no_agent=bool(own["--no-agent"]),
        restart=restart_change(values.pop(RESTART, None), values),
    )
    return request, bool(own["--checked"])


def _point_out_typo(argument: str) -> None:
    """Name the option of jobmon that was probably meant by what sbatch has refused."""
    from difflib import get_close_matches

    name = argument.partition("=")[0]
    similar = get_close_matches(name, _OWN_OPTIONS, n=1, cutoff=0.85)
    if similar and name != similar[0]:
        say(f"{name} went to sbatch; jobmon has {similar[0]}")


def _check_backend(backend: str) -> None:
    from jobmon_core.context import configurable_backends  # rarely needed, and the user waits

    if backend not in (names := configurable_backends()):
        raise UsageError(f"--backend takes one of {', '.join(names)}, not {backend!r}")
