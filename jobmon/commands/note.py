"""``jobmon note``."""

from __future__ import annotations

from jobmon.commands.common import Options, Parser, add_job, open_context
from jobmon.errors import say
from jobmon_core.app.records.note import add_note

DESCRIPTION = """\
Note something about a job, e.g. what the problem was and what helped. `show`, `report` and `archive`
include the notes of a job, each with its time. If a later job fails in the same way, `show` and `diagnose`
name this job and its latest note. What looks like a password or a token is not kept."""
EPILOG = """\
examples:
  jobmon note 8123 'NCCL time-outs on n17; excluded the node, see ticket 4711'
  jobmon note latest with half the batch size"""


def add_arguments(parser: Parser) -> None:
    add_job(parser)
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the note; several words are joined")


def run(options: Options) -> int:
    ref, was_hidden = add_note(open_context(), options.job, " ".join(options.text))
    print(f"noted; `jobmon show {ref}` shows it")
    if was_hidden:
        say("a part that looks like a password or a token was replaced by [hidden]")
    return 0
