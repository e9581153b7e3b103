"""``jobmon chain``."""

from __future__ import annotations

import shlex
from functools import cache

from jobmon.commands.common import Options, Parser, job_ref, open_context
from jobmon.errors import UsageError, report, say
from jobmon_core.app.chain import Chain, read_stage
from jobmon_core.context import backend_names
from jobmon_core.domain.backends import PBS, is_local
from jobmon_core.domain.errors import ConfigInvalid, SchedulerMissing
from jobmon_core.domain.humanize import count

DESCRIPTION = """\
Submit several jobs at once, each of which starts when the one before it has succeeded, and watch all of
them. Slurm itself starts them (--dependency=afterok), and likewise PBS (-W depend=afterok), so the chain goes
on without jobmon, and without you. Without Slurm (--backend local), a small process waits for each.

If a stage fails or is cancelled, the later stages never start and leave the queue. The message about
that stage says so, lists them, and shows the command to resume the chain; the later ones send nothing."""
EPILOG = """\
A STAGE is a script, or in quotes what sbatch gets: options, script, arguments of the script. stdout is
what sbatch prints. If a stage is refused, those before it are submitted all the same; jobmon then says
how to submit the rest, or how to cancel.

examples:
  jobmon chain prepare.sbatch train.sbatch eval.sbatch
  jobmon chain a.sbatch "--gres=gpu:1 b.sbatch --epochs 3" "--wrap 'echo done'"
  jobmon chain --after 8123 eval.sbatch report.sbatch
  jobmon chain --backend local prepare.sh train.sh
  jobmon chain --backend pbs prepare.pbs '-l select=1:ncpus=4 train.pbs'"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--backend",
        choices=backend_names(),
        metavar="NAME",
        help="slurm, local or pbs (default: the configured backend, else slurm)",
    )
    parser.add_argument(
        "--after",
        type=job_ref,
        metavar="JOB",
        help="start the first stage when this job has succeeded",
    )
    parser.add_argument(
        "stage", nargs="+", metavar="STAGE", help="a script, or in quotes options and a script"
    )


def run(options: Options) -> int:
    if len(options.stage) == 1 and options.after is None:
        raise UsageError("a chain has two stages or more; `jobmon submit` submits one job")
    try:
        ctx = open_context()
        backend = options.backend or ctx.configuration().backend
        stages = tuple(read_stage(text, backend) for text in options.stage)
    except (ConfigInvalid, UsageError) as error:
        return report(error, "nothing was submitted: ")
    # cached: each text is printed only once, even if several stages cause it
    chain = Chain(ctx, cache(say), stages, options.backend, options.after)
    exit_code = 1
    try:
        exit_code = chain.submit()
    except (ConfigInvalid, SchedulerMissing) as error:
        return report(error, "" if chain.jobs else "nothing was submitted: ")
    finally:
        jobs = f"{count(len(chain.jobs), 'stage')}: {' -> '.join(map(str, chain.jobs))}"
        done = f"a chain of {jobs}; each starts when the one before it succeeds"
        say(done if exit_code == 0 else _rest(chain))
    return exit_code


def _rest(chain: Chain) -> str:
    if not chain.jobs:
        if chain.is_unclear:
            return (
                f"jobmon knows of no job of the chain; check with {_queue(chain)} before you submit it again"
            )
        return "no stage of the chain was submitted"
    done, total = len(chain.jobs), len(chain.stages)
    backend = []
    if chain.backend:
        backend = ["--backend", chain.backend]
    rest = [stage.text for stage in chain.stages[done:]]
    go_on = shlex.join(["jobmon", "chain", *backend, "--after", str(chain.jobs[-1].job_id), *rest])
    jobs = " ".join(str(ref.job_id) for ref in chain.jobs)
    before = f"Submitted before it: job {jobs}"
    if chain.is_unclear:
        lines = [
            f"jobmon knows of no job of stage {done + 1} of {total}, and submitted none after it. {before}",
            f"if {_queue(chain)} shows no job of stage {done + 1} either, continue with: {go_on}",
        ]
    else:
        lines = [
            f"stage {done + 1} of {total} was not submitted, nor any after it. {before}",
            f"after a correction of stage {done + 1}, continue with: {go_on}",
        ]
    if not _is_local(chain):
        program = "qdel" if _backend(chain) == PBS else "scancel"
        lines.append(f"to cancel what was submitted: {program} {jobs}")
    return "\n".join(lines)


def _queue(chain: Chain) -> str:
    if _is_local(chain):
        return "`jobmon status`"
    return "`qstat`" if _backend(chain) == PBS else "`squeue`"


def _is_local(chain: Chain) -> bool:
    return is_local(_backend(chain))


def _backend(chain: Chain) -> str:
    try:
        return chain.backend or chain.ctx.configuration().backend
    except ConfigInvalid:  # it was valid when the first stage was submitted
        return ""
