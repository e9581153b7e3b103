"""``jobmon submit``: submit a job and watch it.

For Slurm, all arguments after jobmon's own options go to sbatch; `submit_ray` is for Ray clusters.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jobmon.errors import UsageError, interrupted, report, say
from jobmon_core.domain.backends import is_ray
from jobmon_core.domain.errors import Invalid, SchedulerMissing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from jobmon_core.app.submit import SubmitJob
    from jobmon_core.context import Context
    from jobmon_core.domain.tracking.new_job import NewJob

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
  jobmon submit --group sweep1 train.sbatch --lr 0.1
  jobmon submit --backend local train.sbatch
  jobmon submit --backend ray --working-dir . -- python train.py --lr 0.1"""


_NOT_OF_RAY = ("--sentinel", "--checked")
_NOT_SUBMITTED = 2  # as `jobmon check` reports failures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the help, the completion and the manual; `_own_options` parses them."""
    parser.usage = "jobmon submit [JOBMON-OPTIONS] [SBATCH-OPTIONS] FILE [ARGS]"
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument(
        "--backend",
        choices=("slurm", "local", "ray"),
        metavar="NAME",
        help='slurm, local or ray; "local" runs the script on this machine without Slurm, "ray" a command on '
        "a Ray cluster, see `jobmon submit --backend ray --help` (default: as configured, else slurm)",
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
    parser.add_argument(
        "script",
        nargs="*",
        metavar="FILE",
        help="the batch script; sbatch options come before it, its own arguments after it",
    )


def run(arguments: Sequence[str]) -> int:
    """Submit and watch; return the exit code of sbatch, or one of jobmon if sbatch was not run."""
    try:
        return _submit(list(arguments))
    except (Invalid, SchedulerMissing, UsageError) as error:  # each is raised before sbatch starts
        return report(error, "nothing was submitted: ")


def _submit(arguments: list[str]) -> int:
    own = _own_options(arguments)
    backend, rest = own.backend, own.rest
    if _is_for_ray(backend):
        from jobmon.commands.submit_ray import submit_to_ray

        refused = [option for option in _NOT_OF_RAY if own.has(option)]
        return submit_to_ray(rest, own.job_config, own.group, refused)
    if sys.stdin.isatty() and _reads_stdin(rest) and not _read_script():
        return interrupted("nothing was submitted")
    if own.is_checked:
        from jobmon.commands.check import refuses

        if refuses(backend, rest):
            return _NOT_SUBMITTED
    from jobmon_core.app.submit import SubmitJob
    from jobmon_core.context import Context
    from jobmon_core.lifecycle.start import MonitorStarter

    ctx = Context.open(os.environ)
    starter = MonitorStarter(ctx, at_most=1 if own.group else 0)  # one monitor for the whole group
    add_sentinel = _sentinel_adder(ctx) if own.wants_sentinel else None
    on_saved = _group_adder(ctx, own.group, rest) if own.group else None
    submit_job = SubmitJob(
        ctx, starter, say, add_sentinel, own.job_config, no_agent=own.no_agent, on_saved=on_saved
    )
    try:
        if rest[:1] in (["--help"], ["-h"]):
            return _help(submit_job, backend, rest)
        code = _as_exit_code(submit_job.submit(backend, rest))
        if code and rest:
            _point_out_typo(rest[0])
        return code
    finally:
        starter.discard()


def _is_for_ray(backend: str | None) -> bool:
    """Whether the job is one of Ray, by the option or else by the configuration."""
    if backend is None:
        from jobmon_core.context import Context
        from jobmon_core.domain.errors import ConfigInvalid

        try:
            backend = Context.open(os.environ).configuration().backend
        except ConfigInvalid:  # `submit` reports it later; with `--checked`, the check does
            return False
    return is_ray(backend)


def _reads_stdin(arguments: Sequence[str]) -> bool:
    """Return whether sbatch would read the script from stdin."""
    # A word that is neither an option nor follows one is the script, or an argument of the script. Only other
    # command lines need the table of options, which takes long to import while the user waits.
    for previous, word in pairwise(("", *arguments)):
        follows_option = previous.startswith("-") and "=" not in previous
        if word.startswith("--wrap") or not (word.startswith("-") or follows_option):
            return False
    from jobmon_core.domain.slurm.sbatch_options import reads_stdin

    return reads_stdin(arguments)


def _read_script() -> bool:
    """Read the script from the terminal and make it the new stdin; return False if the user pressed Ctrl-C.

    sbatch could read it itself, but after Ctrl-C it would be unclear whether Slurm has received a job.
    """
    try:
        say("no script given: type it here, end with Ctrl-D (Ctrl-C submits nothing)")
        script = sys.stdin.buffer.read()
    except KeyboardInterrupt:
        return False
    with os.fdopen(os.memfd_create("script"), "w+b") as file:
        file.write(script)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    return True


def _help(submit_job: SubmitJob, backend: str | None, rest: list[str]) -> int:
    """Print jobmon's help on stderr, then sbatch's if this machine has sbatch."""
    from jobmon.parser import command_parser
    from jobmon_core.domain.backends import DEFAULT_BACKEND

    command_parser("submit").print_help(sys.stderr)
    print("\nThe help of sbatch follows.", file=sys.stderr, flush=True)
    try:
        code = _as_exit_code(submit_job.submit(backend or DEFAULT_BACKEND, rest))
    except SchedulerMissing:
        say("sbatch is not on this machine, so it can't show its own help")
        return 0
    if code:
        say("sbatch could not show its help; `jobmon submit --backend local` needs no Slurm")
    return code


def _sentinel_adder(ctx: Context) -> Callable[[NewJob], None]:
    from jobmon_core.app.add_sentinel import SentinelSubmitter  # rarely needed, and the user waits

    return SentinelSubmitter(ctx, say).submit


def _group_adder(ctx: Context, group: str, arguments: Sequence[str]) -> Callable[[NewJob], None]:
    """Return a function that adds the job to a group, which is made if there is none, and prints errors.

    Raises:
        Invalid: no group can have this name.
    """
    from jobmon_core.app.groups.edit import join_group, submission_name  # rarely needed
    from jobmon_core.domain.groups.model import checked_name

    checked_name(group)
    return lambda job: join_group(ctx, group, job, submission_name(arguments), say)


_OWN_OPTIONS = ("--backend", "--checked", "--group", "--job-config", "--no-agent", "--sentinel")


_FLAGS = ("--sentinel", "--no-agent", "--checked")
_TAKES = {"--job-config": "the path of a YAML file", "--group": "the name of a group"}


class _OwnOptions(NamedTuple):
    backend: str | None
    wants_sentinel: bool
    no_agent: bool
    is_checked: bool
    job_config: str  # empty if there is none
    group: str  # likewise
    rest: list[str]  # for sbatch

    def has(self, option: str) -> bool:
        """Return whether the user gave ``option``, one that a job of Ray cannot have."""
        given = {"--sentinel": self.wants_sentinel, "--checked": self.is_checked}
        return given[option]


def _own_options(arguments: list[str]) -> _OwnOptions:
    """Remove jobmon's leading options, never abbreviated: sbatch accepts abbreviations of its own."""
    backend, flags, values = None, set[str](), {"--job-config": "", "--group": ""}
    while arguments:
        name, equals, value = arguments[0].partition("=")
        if arguments[0] in _FLAGS:
            flags.add(arguments[0])
        elif name == "--backend" or name in values:
            if not equals:
                value = arguments.pop(1) if arguments[1:] else ""
            if name == "--backend":
                backend = _known(value)
            elif not value:
                raise UsageError(f"{name} takes {_TAKES[name]}")
            else:
                values[name] = value
        else:
            break
        del arguments[0]
    sentinel, no_agent, checked = (flag in flags for flag in _FLAGS)
    job_config, group = values.values()
    return _OwnOptions(backend, sentinel, no_agent, checked, job_config, group, arguments)


def _point_out_typo(argument: str) -> None:
    """Name the option of jobmon that was probably meant, after sbatch has refused ``argument``."""
    from difflib import get_close_matches

    name = argument.partition("=")[0]
    similar = get_close_matches(name, _OWN_OPTIONS, n=1, cutoff=0.85)
    if similar and name != similar[0]:
        say(f"{name} went to sbatch; jobmon has {similar[0]}")


def _known(backend: str) -> str:
    from jobmon_core.context import configurable_backends  # rarely needed, and the user waits

    if backend not in (names := configurable_backends()):
        raise UsageError(f"--backend takes one of {', '.join(names)}, not {backend!r}")
    return backend


def _as_exit_code(code: int) -> int:
    """Return the exit code that a shell would report: 128 + n for a death by signal n."""
    return code if code >= 0 else 128 - code
