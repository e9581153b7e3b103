"""``jobmon health``: say whether jobs are healthy, with the figures that show it."""

from __future__ import annotations

from jobmon.commands.common import JOB_HELP, Options, Parser, add_json, open_context, print_result
from jobmon.errors import UsageError
from jobmon.views.health import all_health_json, health_json, health_lines, table_of_health
from jobmon_core.app.health.collect import collect_health, health_with_pods
from jobmon_core.app.outcome import ANSWERS

DESCRIPTION = """\
Say whether a job is healthy, in one look: its state, progress and throughput, GPUs that it holds but does not
use, which network carries its collectives, checkpoints, disks, and the errors in its log. Several jobs, or a
group, get one line each and their issues. It reads the files that jobmon keeps, and does not query Slurm.

A job is unhealthy if something is known to be wrong. It is healthy if nothing is, and its steps advance or
its GPUs compute. Otherwise its health is not known: what jobmon cannot see counts neither way.

The network is judged by NCCL's own lines in the log, which it prints with NCCL_DEBUG=INFO, and by the
counters of the network cards where an agent runs on a node that the job has for itself:
  OK              the fast fabric of the nodes is used, or they have none
  DEGRADED        a part of the job, or of the cards, does not use it
  FALLBACK        TCP sockets, although there is a fast fabric
  UNKNOWN         nothing shows it; the report says what to set
  NOT APPLICABLE  one node

For Ray on Kubernetes, --pod looks into pods, by `kubectl exec`: nvidia-smi, `ray status` in the first one,
the lines of NCCL in the logs of Ray's workers, and with --checkpoints a folder there. A job may be named
too."""
EPILOG = """\
exit codes:
  0   all named jobs are healthy
  1   something is wrong with a job, or it cannot be found
  3   nothing is known to be wrong, but the health of a job is not known

--json prints one object, a list for several jobs. What is not known is null, e.g. healthy. Sizes are bytes,
utilizations 0 to 100, times ISO 8601.

  at job_id name state stage healthy why issues advice (of each issue) notes
  elapsed_s errors not_seen
  progress     progress_pct items_processed total_items unit epoch loss
               throughput eta_seconds
  gpus         allocated used idle utilization avg_utilization span_s
  network      verdict transport text evidence advice
  ray          gpus gpus_held cpus cpus_held waiting (null for other jobs)
  checkpoints  folder count latest step complete saved age_s interval_s
               next_due overdue problem
  disks        a list: path free_bytes total_bytes free_inodes total_inodes

stage is waiting, running, ending, succeeded, failed, cancelled, unknown or unwatched.

examples:
  jobmon health 8123
  jobmon health sweep1
  jobmon health latest --json | jq .issues
  jobmon health --pod train-head-x7k2p --pod train-worker-8v7pg --namespace ml"""
_UNHEALTHY, _NOT_KNOWN = 1, 3


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB|GROUP", help=f"a group, {JOB_HELP}")
    parser.add_argument(
        "--pod",
        action="append",
        default=[],
        metavar="P",
        help="look into this pod; repeat it for each, Ray's head first",
    )
    parser.add_argument(
        "--namespace",
        "-n",
        default="",
        metavar="N",
        help="of the pods (default: that of kubectl's configuration)",
    )
    parser.add_argument(
        "--checkpoints", default="", metavar="DIR", help="the folder of checkpoints, as the first pod sees it"
    )
    add_json(parser)


def run(options: Options) -> int:
    """Print the report; return the exit code by the worst of the jobs."""
    if not (options.job or options.pod):
        raise UsageError("name a job, a group, or a --pod")
    if not options.pod and (options.namespace or options.checkpoints):
        raise UsageError(f"{'--namespace' if options.namespace else '--checkpoints'} requires --pod")
    ctx = open_context()
    if options.pod:
        pods = (options.pod, options.namespace, options.checkpoints)
        reports = [health_with_pods(ctx, options.job, *pods)]
    else:
        reports = [*collect_health(ctx, options.job)]
    ANSWERS.append(reports)
    if len(reports) == 1:
        print_result(options, health_json, health_lines, reports[0])
    else:
        print_result(options, all_health_json, table_of_health, reports)
    if any(report.healthy is False for report in reports):
        return _UNHEALTHY
    return _NOT_KNOWN if any(report.healthy is None for report in reports) else 0
