"""``jobmon checkpoints``."""

from __future__ import annotations

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    one_or_all,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.commands.jobs_or_files import job_or_folder
from jobmon.views.artifacts import checkpoint_lines, checkpoints_json
from jobmon_core.app.jobs.artifacts import checkpoints_in, checkpoints_of

DESCRIPTION = """\
List the checkpoints of a job or in a folder, the newest first, and mark the newest complete one: a crash
while saving leaves one that only looks finished. If none is certainly complete, the newest that may be is
marked. jobmon knows the layouts of PyTorch (also distributed), the Hugging Face Trainer, accelerate,
Lightning, NeMo, DeepSpeed, Megatron, verl, orbax and flax, TensorFlow and Keras, and GROMACS. It reads
names, sizes, markers and the structure of files, never their pickled content. For a job, it looks where the
job configuration says, else where the log or the script says that checkpoints are saved, and lists only those
that the job saved between its start and its end. The folder may be a checkpoint itself."""
EPILOG = """\
The exit code is 0 if there is a checkpoint that is complete or may be, else 1; if the tasks of a job use
several folders, it is 0 only if each has one. --json prints one object, a list for several folders: job_id
name folder problem all_listed newest_complete resume interval_s next_expected overdue, and checkpoints, each
with path framework step complete why size_bytes saved. What is not known is null; complete is null if nothing
shows whether it is.

examples:
  jobmon checkpoints 8123
  jobmon checkpoints out/checkpoints
  jobmon checkpoints ./8123                    a folder whose name is also a job id
  jobmon checkpoints latest --json | jq -r .newest_complete"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("what", metavar="JOB|DIR", help="a job, or the path of a folder")
    add_flags(parser, json="print JSON")


def run(options: Options) -> int:
    ctx = open_context()
    target = job_or_folder(ctx, options.what)
    lists = [checkpoints_in(ctx, target)] if isinstance(target, str) else checkpoints_of(ctx, *target)
    now_s, console = ctx.clock.now(), stdout_console()
    if options.json:
        print_json(one_or_all([checkpoints_json(each, now_s) for each in lists]))
    else:
        for number, each in enumerate(lists):
            if number:
                print()
            if each.ref and each.job:
                print(console.bold(f"{each.ref} {each.job.name}".rstrip()))
            print_lines(checkpoint_lines(each, now_s, console))
    return int(not all(each.found.newest_complete for each in lists))
