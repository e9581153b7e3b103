"""``jobmon verify``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    natural,
    one_or_all,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.commands.jobs_or_files import job_or_folder
from jobmon.errors import UsageError
from jobmon.views.completeness import completeness_json, completeness_lines
from jobmon_core.app.jobs.artifacts import folders_of, verify
from jobmon_core.domain.artifacts.completeness import Completeness, Depth
from jobmon_core.domain.errors import JobmonError, StorageFailed

if TYPE_CHECKING:
    from jobmon_core.app.jobs.artifacts import JobFolder
    from jobmon_core.context import Context

DESCRIPTION = """\
Check that no file of a job's output folder, or of any folder, is truncated or damaged. jobmon knows JSON,
JSON lines, CSV, HDF5, npy, npz, Parquet, safetensors, PyTorch, MessagePack, tar, gzip and zstd. For a large
file, it reads the structure and a few megabytes. With --against, check that the folder has every file of
another one, e.g. of the source of a copy; the folder alone does not prove that the copy is complete. If a
file is shorter than its source, the result says whether it still grows."""
EPILOG = """\
exit code: 0 complete; 1 something is missing, different or damaged; 2 wrong usage; 74 something could not be
read, so the result is not certain.
--json prints one object, a list for several tasks: job_id folder complete problem files size_bytes against
compared expected_files missing extra different damaged unreadable odd_values not_checked records
expected_records all_listed.

examples:
  jobmon verify 8123                                check the formats of the outputs
  jobmon verify out/ --records 10000                and require at least 10,000 records
  jobmon verify /scratch/me/ckpts --against ~/ckpts && sbatch eval.sbatch
  jobmon verify copy/ --against source/ --sha256    compare the contents too"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("what", metavar="JOB|DIR", help="a job, or the path of a folder or file")
    parser.add_argument("--against", metavar="SRC", help="the folder whose files must all be there")
    depth = parser.add_mutually_exclusive_group()
    for each, text in (
        (Depth.COUNT, "compare only the names, and so the number of files; do not check formats"),
        (Depth.SIZE, "compare the sizes too (default)"),
        (Depth.SHA256, "compare the contents too; reads every file on both sides"),
    ):
        depth.add_argument(f"--{each}", dest="depth", action="store_const", const=each, help=text)
    parser.add_argument(
        "--records",
        type=natural,
        metavar="N",
        help="require at least N rows, lines or elements in all files together",
    )
    add_flags(parser, json="print JSON")


def run(options: Options) -> int:
    wanted = _wanted(options)
    ctx = open_context()
    found = _verified(ctx, options.what, wanted)
    if options.json:
        print_json(
            one_or_all([completeness_json(each, str(job.ref) if job else None) for each, job in found])
        )
    else:
        console = stdout_console()
        for each, job in found:
            if job and len(found) > 1:
                print(console.bold(str(job.ref)))
            print_lines(completeness_lines(each, console))
    if any(each.is_incomplete for each, _ in found):
        return 1
    if any(each.is_unreadable for each, _ in found):
        return StorageFailed.exit_code
    return 0


def _wanted(options: Options) -> Completeness:
    if options.depth and not options.against:
        raise UsageError(f"--{options.depth} compares two folders; name the other one with --against")
    if options.against and not os.path.lexists(options.against):
        raise UsageError(f"--against {options.against}: no such folder")
    source = os.path.abspath(options.against) if options.against else ""  # noqa: PTH100 - as the user wrote it
    depth = options.depth or Depth.SIZE
    return Completeness("", source=source, depth=depth, expected_records=options.records)


def _verified(ctx: Context, what: str, wanted: Completeness) -> list[tuple[Completeness, JobFolder | None]]:
    target = job_or_folder(ctx, what)
    if isinstance(target, str):
        return [(verify(ctx, replace(wanted, folder=target)), None)]
    job, ref = target
    folders = folders_of(ctx, job, ref)
    if not folders:
        raise JobmonError(f"job {ref} is not known to have started, so it has no outputs to verify yet")
    return [(verify(ctx, replace(wanted, folder=each.folder), each), each) for each in folders]
