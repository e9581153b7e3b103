"""``jobmon nodes``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import add_flags, open_context, period_s, print_result
from jobmon.views.history import nodes_json, nodes_lines
from jobmon_core.app.history.look import nodes_seen
from jobmon_core.domain.job.history.nodes import WINDOW_S

if TYPE_CHECKING:
    from jobmon.commands.common import Options, Parser

DESCRIPTION = """\
Show what your ended runs took on each node, and name the nodes that kill runs: by failures that a node can
cause, compared with your runs on all other nodes in the last 14 days. Likewise the nodes that slow runs down:
by the seconds per step, epoch or whatever the log counts, compared with runs of the same name elsewhere."""
EPILOG = """\
A node is named if a good one would look so in less than 0.03 % of cases. Two good runs in a row clear it.

examples:
  jobmon nodes
  jobmon nodes --since 30d
  jobmon nodes --json | jq -r '.suspects[].node'"""


def add_arguments(parser: Parser) -> None:
    text = "totals of runs that ended since, e.g. 36h, 30d (default: 14d)"
    parser.add_argument("--since", type=period_s, default=WINDOW_S, metavar="TIME", help=text)
    add_flags(parser, json="print JSON (see docs/history.md)")


def run(options: Options) -> int:
    print_result(options, nodes_json, nodes_lines, *nodes_seen(open_context(), options.since))
    return 0
