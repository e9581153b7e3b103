"""``jobmon efficiency``."""

from __future__ import annotations

from jobmon.commands.common import JOB_HELP, Options, Parser, add_json, open_context, period_s, print_result
from jobmon.errors import say
from jobmon.views.efficiency import efficiency_json, efficiency_lines
from jobmon_core.app.jobs.efficiency import collect, costs_of
from jobmon_core.app.jobs.find import RECENT_S

DESCRIPTION = """\
Show what ended jobs used of what they requested: time, CPUs, memory and GPUs, with totals, and what would
have been enough. Accounting (sacct) is asked about many jobs at once; jobs that jobmon does not watch can be
named by their ids, too. Without JOB, the watched jobs that ended in the last 7 days are shown."""
EPILOG = """\
The figures are those of seff: CPU is the processor time of all steps as a share of elapsed time x allocated
CPUs; MEMORY is the largest step, i.e. the sum of the peaks of its tasks, as a share of the memory of all
nodes. Slurm samples the memory, so short peaks are missed. Of a requeued job, the last run counts. A job that
was restarted, or restarts another one, stands for all attempts of its lineage.

GPU is the mean utilisation: from jobmon's agents beside the job, or from a summary of jobstats in
accounting. `max 83%` comes from gres/gpuutil, of which accounting has only the highest value.
GPU activity says for which part of the GPU time agents saw a utilisation below
10 %, then from 10 to 20 %, and so on; idle is below 5 %.
n/a means that nothing was recorded; it is never shown as 0. If accounting does not have an end yet,
jobmon waits for it, up to half a minute.

Advice has a margin: a quarter for memory, half for time and CPUs. Jobs that did not complete
or ran for less than 10 minutes get none about using less: they may need more another time.

--json prints one object. Times are Unix seconds, sizes bytes, shares 0 to 1, percentages 0 to 100;
what is not recorded is null.

  jobs    a list: job_id, name, note (why figures are missing), state (null if
          it has not ended; then no more keys follow), started_at, ended_at,
          wall_s, limit_s, limit_share, exceeded_limit, cpus, cpu_s,
          cpu_share, nodes, memory, memory_requested, memory_share,
          memory_per_node (of the fullest node), memory_requested_per_node,
          gpus, gpu_hours, gpu_percent, gpu_percent_is_mean (else it was at
          most that), gpus_idle, gpu_memory (of the fullest GPU; from
          accounting, of all), gpu_source (agents, jobstats, accounting),
          gpu_busy_s (GPU-seconds below 10, 20 ... 100 % utilisation, as
          agents measured them; empty without), gpu_idle_s (below 5 %),
          advice
  totals  runs, cpu_hours, cpu_share, memory_gib_hours, memory_share,
          gpu_hours, gpu_percent, gpu_hours_recorded (those with a mean
          utilisation), gpu_idle_hours, costs (by currency, of runs in the
          history); hours are those of allocated resources

The exit code is 1 if a job is unknown or accounting did not answer.

examples:
  jobmon efficiency 8123
  jobmon efficiency 8123_7 8140 train
  jobmon efficiency sweep1
  jobmon efficiency --since 30d
  jobmon efficiency --json | jq .totals.gpu_hours"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB|GROUP", help=f"{JOB_HELP}, or a group")
    parser.add_argument(
        "--since",
        type=period_s,
        metavar="TIME",
        help="only jobs that ended since, e.g. 36h, 30d (default: 7d without JOB, else no limit)",
    )
    add_json(parser)


def run(options: Options) -> int:
    ctx = open_context()
    period_s, since_s = options.since, 0.0
    if period_s is None and not options.job:
        period_s = RECENT_S
    if period_s is not None:
        since_s = ctx.clock.now() - period_s
    runs, problems = collect(ctx, options.job, since_s)
    for problem in problems:
        say(problem)
    if options.json or runs or not problems:
        print_result(options, efficiency_json, efficiency_lines, runs, costs_of(ctx, runs))
    return int(bool(problems))
