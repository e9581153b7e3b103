"""``jobmon why``."""

from __future__ import annotations

from jobmon.commands.common import Options, Parser, add_json, open_context, print_result
from jobmon.views.pending import why_json, why_lines
from jobmon_core.app.why import why_pending

DESCRIPTION = """\
Explain why a job is pending: what it waits for, the evidence, when Slurm expects it to start, its place in
the queue, and what you can do. The job need not be watched. jobmon makes a few queries to Slurm, also
about the nodes, reservations, limits or other jobs that the reason refers to. For an array, it explains the
first pending tasks."""
EPILOG = """\
The place in the queue counts the jobs that squeue shows you: a site may hide those of others.

--json prints one object. Times are Unix seconds; what is not known is null or an empty text.

  job_id, name, state, partition, priority, submitted_at, is_watched
  is_pending  false for a job that has started or ended; problem says so
  reason      as Slurm writes it
  category    scheduling, priority, resources, limit, dependency, held,
              launch_failed, reservation, nodes, begin_time, licenses,
              constraints, array_limit, partition, account, other, unknown
  problem, evidence (a list of sentences), action
  eligible_at the time from which it may start, past or future
  expected_start_at, expected_nodes
              Slurm's estimate
  suspect_nodes
              those of expected_nodes that killed runs of yours
  jobs_ahead, jobs_waiting
              the pending jobs of the partition that come before it, and all
              other pending ones; jobs that cannot start now are not counted
  pending_tasks
              for an array: the indices of the tasks that this explains
  as_of       when jobmon saw this, if Slurm does not answer now or no
              longer lists the job
  unavailable a list of what Slurm did not answer, and why

examples:
  jobmon why 8123
  jobmon why 8123_7
  jobmon why latest
  jobmon why train --json | jq .category"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "job",
        metavar="JOB",
        help="any job id of Slurm (12, 12_3, 12+1), the name of a watched job, or `latest`",
    )
    add_json(parser)


def run(options: Options) -> int:
    ctx = open_context()
    print_result(options, why_json, why_lines, why_pending(ctx, options.job), ctx.clock.now())
    return 0
