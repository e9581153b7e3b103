"""``jobmon report``."""

from __future__ import annotations

import os
from dataclasses import replace

from jobmon.commands.common import (
    Options,
    Parser,
    add_job,
    add_json,
    open_context,
    print_json,
    print_lines,
    stdout_console,
    write_page,
)
from jobmon.errors import say
from jobmon.views.console import has_unicode
from jobmon.views.report.facts import report_json
from jobmon.views.report.text import WIDTH, report_lines
from jobmon.views.top.drawing import ASCII, UNICODE
from jobmon_core.app.jobs.report import collect_report, with_alike
from jobmon_core.domain.errors import StorageFailed

DESCRIPTION = """\
Show the whole run of a job on one page, while it runs or after its end: what is or was wrong with it and
what to do, its times, progress, throughput and loss, what it used of its GPUs and nodes, and what happened
when. What only an agent beside the job can measure is shown if one was there. For an array, the task with
the worst outcome is shown, and a list of those that have started or ended."""
EPILOG = """\
--html writes one page with charts that needs no network and no JavaScript. An existing file is
replaced. The file is readable by you alone, since the page quotes the log of the job.

--json prints one object. Times are Unix seconds, sizes are bytes; what is not known is null.

  job_id, name, state, outcome, submitted_at, started_at, ended_at
  wait       waited_s, split into held_s (it could not start) and eligible_s;
             and running_s
  verdict, is_bad, explanation, evidence, advice
             what is or was wrong; evidence is a list of lines
  progress   current, total, unit, rate_per_s, average_rate_per_s
  metrics    further values of the log by name, e.g. step_time_s
  loss       first, last, best, best_at_s, worst, worst_at_s, bad_values
  energy_kwh of all GPUs, while an agent measured
  gpu_busy_s GPU-seconds below 10, 20 ... 100 % utilisation; empty without an
             agent
  cost, currency
             of an ended task, if there are prices
  gpus       a list: node, index, name, mean_percent, highest_percent,
             memory_peak, memory_total, mean_power_w, highest_power_w,
             energy_kwh, notes
  nodes      a list: name, cores, mean_cores, highest_cores, throttled_percent,
             memory_peak, memory_limit, oom_kills, measured_s
  events     a list: at, kind, subject, text
  notes      a list of texts: what is missing, and why
  user_notes a list: at, text

examples:
  jobmon report 8123
  jobmon report latest --html report.html
  jobmon report 8123_7 --html - > report.html
  jobmon report 8123 --json | jq .energy_kwh"""


def add_arguments(parser: Parser) -> None:
    add_job(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with charts; - is stdout")
    add_json(parser)


def run(options: Options) -> int:
    ctx = open_context()
    data = collect_report(ctx, options.job)
    if options.html:
        from jobmon.views.report.html import report_html

        try:
            data = with_alike(ctx, data)
        except StorageFailed as error:
            say(f"{error}; the page does not compare this run with earlier ones")
        write_page(options, report_html(data), "report")
    if options.json:
        print_json(report_json(data))
    elif not options.html:
        console = stdout_console()
        console = replace(console, width=min(console.width or WIDTH, WIDTH))
        print_lines(report_lines(data, console, UNICODE if has_unicode(os.environ) else ASCII))
    return 0
