"""``jobmon mark``."""

from __future__ import annotations

from functools import partial

from jobmon.commands.common import Options, Parser, natural, open_context
from jobmon_core.app.chain import write_marker

DESCRIPTION = """\
Write a marker: a small file whose existence shows that something is done. It appears in one step, never
half-written, and says when, on which host, by which job and with which exit status it was written.

A job configuration may name it (done: {marker: FILE}). Then jobmon looks at the job as soon as the marker
appears, and for processes without a scheduler (`jobmon watch --pid`) it is the proof of how they ended."""
EPILOG = """\
Join the steps with && so that a failure leaves no marker; or pass the exit status on with --status.

exit codes: 0 if the marker was written, 74 if it cannot be written

A marker with another status than 0 proves a failure to jobmon, but
`test -f` takes it for a success.

examples:
  jobmon mark out/TRAIN_DONE
  python train.py && jobmon mark out/TRAIN_DONE
  python train.py; jobmon mark --status $? out/TRAIN_ENDED
  until test -f out/TRAIN_DONE; do sleep 30; done && python eval.py"""
_MAX_STATUS = 255


def add_arguments(parser: Parser) -> None:
    status = partial(natural, most=_MAX_STATUS)
    parser.add_argument(
        "-s", "--status", type=status, default=0, metavar="N", help="the exit status to record (default: 0)"
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="a note to put into the marker")
    parser.add_argument("name", metavar="NAME", help="the path of the marker")


def run(options: Options) -> int:
    print(write_marker(open_context(), options.name, options.status, options.note))
    return 0
