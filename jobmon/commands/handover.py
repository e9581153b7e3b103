"""``jobmon handover``."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, Options, Parser, jobmon_command, open_context
from jobmon.errors import say
from jobmon.views.handover import handover_page
from jobmon_core.app.handover_facts import collect
from jobmon_core.app.jobs.report import write_report
from jobmon_core.app.live.patrol import named_state_ids

if TYPE_CHECKING:
    from jobmon_core.context import Context

DESCRIPTION = """\
Write a page in Markdown for a colleague who takes over your jobs: the first commands after a login, what runs
where and how far along it is, which job waits for which, groups, logs, outputs, marker files, the newest
complete checkpoints, and the exact commands to look at, stop or resume each job. What looks like a secret is
hidden.
The page quotes the last lines of the result files that a job configuration names.

It is about the jobs that are watched, and those that ended in the last 7 days."""
EPILOG = """\
examples:
  jobmon handover > handover.md
  jobmon handover --output handover.md
  jobmon handover 8123 train"""
_EXPORTED = ("SLURM_CONF",)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB|GROUP", help=f"only about these: a group, {JOB_HELP}")
    parser.add_argument(
        "--output", "-o", default="", metavar="FILE", help="write the page into this file (default: stdout)"
    )


def run(options: Options) -> int:
    ctx = open_context()
    found = collect(ctx, named_state_ids(ctx, options.job))
    page = handover_page(found, _setup(ctx))
    if not options.output:
        sys.stdout.write(page)
        return 0
    write_report(Path(options.output), page)
    say(f"written to {options.output}; only you can read it: `chmod` it, or send it, to hand it over")
    return 0


def _setup(ctx: Context) -> list[str]:
    """Return what makes the commands of the page work in a new shell."""
    exported = {"JOBMON_HOME": str(ctx.home.root)}
    exported |= {name: os.environ[name] for name in _EXPORTED if os.environ.get(name)}
    setup = [f"export {name}={shlex.quote(value)}" for name, value in exported.items()]
    program, *arguments = jobmon_command()
    if arguments:
        setup.append(f'jobmon() {{ {shlex.join([program, *arguments])} "$@"; }}')
    else:
        setup.append(f"export PATH={shlex.quote(str(Path(program).parent))}:$PATH")
    return setup
