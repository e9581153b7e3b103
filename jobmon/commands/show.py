"""``jobmon show``."""

from __future__ import annotations

from jobmon.commands.common import (
    Errors,
    Options,
    Parser,
    add_flags,
    add_jobs,
    add_json,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.views.delivery import alert_rows, alerts_json
from jobmon.views.details import detail_lines
from jobmon.views.diagnosis import findings_json, findings_rows
from jobmon.views.model import details_json
from jobmon.views.progress import metrics_json
from jobmon.views.restarts import lineage_rows, place_json
from jobmon.views.running import launch_json
from jobmon.views.telemetry import live_json
from jobmon.views.trackers import trackers_json
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import current_status, lineages_of
from jobmon_core.app.live.telemetry import task_agents, tasks_with_agents, with_step_usage
from jobmon_core.app.messages.mute import job_alerts
from jobmon_core.app.records.note import job_memory

DESCRIPTION = """\
Show everything known about jobs: how they ended, the cause with the log lines that prove it, what to
do, times, memory, files, what became of the messages, and the state history. A time in the history is
Slurm's, or that of jobmon's query if it says so. An array is summarised: the number of tasks in each state
and the causes with their tasks. Then follow up to 10 tasks that failed, are doubtful or ended with an unknown
outcome; with --all, all tasks."""
EPILOG = """\
--json prints one object, or a list of objects for several jobs. Its keys are those of
`jobmon status --json` (job_id, name, state, phase, outcome, exit_code, signal, cause,
monitor, undelivered, ...) and those below. What is not known is null or an empty text.

  workdir, command, stdout, stderr
             paths; stdout and stderr with Slurm's % patterns
  settings   what a job configuration (source: its path) or options say, with the
             units in the names, e.g. stall_timeout_s; null if there are none
  tasks      a list: job_id, state, outcome, witness (what proves the end),
             exit_code, signal, why, nodes, started_at, ended_at (Unix
             seconds), max_rss_bytes, restarts, cause, title, advice, log,
             wait (of the latest run: waited_s, split into held_s, in which
             it could not start, and eligible_s; and running_s),
             evidence (file, line, text), outputs (what became of them),
             outputs_verified, results (name, text), diagnostics (the path of
             the diagnostics bundle) and history (state, reason, and
             at: when jobmon saw it, in Unix seconds)
  launch     how a job with a single task was launched: verdict (checking,
             passed, failed or "not known") and items, a list: name, result
             (passed, warning, failed, "not yet" or "not known"), text and
             details, a list of texts; null if jobmon did not look at it
  metrics    further metrics of the logs of all tasks, a list: job_id, name and
             value; step_time_s, latency_s and tokens_per_s as the log prints
             them, and those of your progress patterns
  trackers   runs of trackers to which the tasks log, a list: job_id, tracker,
             run (its id), name, status (the tracker's word), step, loss, url,
             path, updated_at (Unix seconds) and is_offline
  messages   a list: title, route, level, channel, attempts, delivered_at,
             given_up, maybe_repeated, problem (why the latest attempt
             failed), next_try_at (Unix seconds), held (why it waits, e.g.
             "quiet hours"), counted (why another message lists it instead)
             and told_on (the channel that gets it instead)
  user_notes a list: at (Unix seconds), text
  known_failure
             job_id, at and note of an earlier job that failed in the same way
             and has a note; null if there is none
  lineage    of a job that is restarted: id, attempt (from 0), attempt_count,
             before and after (jobs), and decision, as in `jobmon restarts
             --json`; null if it is not an attempt of one
  changes    what changed since the job last worked, in one line
  muted_until, acknowledged_at
             until when `jobmon mute` keeps its messages back, and when you
             last acknowledged it (Unix seconds)

examples:
  jobmon show 8123
  jobmon show latest
  jobmon show train                     the newest job of that name
  jobmon show 8123_7 8124
  jobmon show 8123 --all
  jobmon show 8123 --json | jq .tasks"""


def add_arguments(parser: Parser) -> None:
    add_jobs(parser)
    add_flags(parser, all="show all tasks of an array, also those without a problem")
    add_json(parser)


def run(options: Options) -> int:
    ctx, console, errors = open_context(), stdout_console(), Errors()
    found, objects = [], []
    for argument in options.job:
        with errors.reported():
            found.append(find_job(ctx, argument))
    for number, (job, ref) in enumerate(found):
        status = current_status(ctx, job)
        progress, now_s = ctx.progress_file(job.id).read(), ctx.clock.now()
        memory = job_memory(ctx, status.job, ref.key)
        lineage = lineages_of(ctx, [job]).get(job.id)
        if options.json:
            tasks = tasks_with_agents(ctx, status, progress, now_s)
            details = details_json(status, now_s, progress) | live_json(tasks, now_s)
            alerts = alerts_json(job_alerts(ctx, status.job)) | place_json(lineage, status.job)
            details |= (
                launch_json(tasks)
                | metrics_json(tasks)
                | trackers_json(tasks)
                | findings_json(memory)
                | alerts
            )
            objects.append(details)
            continue
        agents = with_step_usage(status.job, task_agents(ctx, status.job))
        rows = (*findings_rows(memory), *alert_rows(job_alerts(ctx, status.job), now_s))
        lines = detail_lines(
            status,
            ref.key,
            now_s,
            console,
            progress,
            agents=agents,
            memory=(*rows, *lineage_rows(lineage, status.job, now_s)),
            all_tasks=options.all,
        )
        print_lines(["", *lines] if number else lines)
    if options.json and objects:
        print_json(objects if len(options.job) > 1 else objects[0])
    return errors.exit_code
