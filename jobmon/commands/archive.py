"""``jobmon archive``."""

from __future__ import annotations

from pathlib import Path

from jobmon.commands.common import Options, Parser, add_flags, add_job, open_context
from jobmon.errors import say
from jobmon.views.report.html import report_html
from jobmon_core.app.records.archive import archive_job
from jobmon_core.domain.humanize import count

DESCRIPTION = """\
Put everything about a job into one folder, or into one file if DEST ends in .tar.gz or .tgz: its state, the
logs of the job and of its monitor, the report as HTML, the notes, the record of what was run, including the
script, and what agents measured. Text that looks like a password or a token is hidden. For a log larger than
32 MiB, the first 8 and the last 24 MiB are kept. Nothing is overwritten: DEST must be new, or an empty
folder. jobmon's own records stay; `jobmon forget` removes them. With --checkpoint, the checkpoint from which
the job can resume is copied, too, unchanged and whatever its size."""
EPILOG = """\
examples:
  jobmon archive 8123 job-8123
  jobmon archive latest /archive/train-8123.tar.gz
  jobmon archive --checkpoint 8123 /archive/job-8123"""


def add_arguments(parser: Parser) -> None:
    add_flags(parser, checkpoint="also copy the checkpoint to resume from")
    add_job(parser)
    parser.add_argument(
        "dest", type=Path, metavar="DEST", help="a new or empty folder, or a new file *.tar.gz"
    )


def run(options: Options) -> int:
    archive = archive_job(
        open_context(), options.job, options.dest, report_html, with_checkpoint=options.checkpoint
    )
    print(f"{archive.path}: {count(archive.files, 'file')} about job {archive.ref}")
    for each in archive.left_out:
        say(f"left out: {each}")
    return 0
