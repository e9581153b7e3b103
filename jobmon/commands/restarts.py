"""``jobmon restarts``."""

from __future__ import annotations

import json

from jobmon.commands.common import JOB_HELP, Options, Parser, add_flags, open_context, table_console
from jobmon.errors import say
from jobmon.views.restarts import attempts_json, attempts_lines, restarts_lines, summary_json
from jobmon_core.app.restarts.lineages import all_lineages, lineage_of

DESCRIPTION = """\
List the jobs that were submitted with --restart, or submitted again by `jobmon restart`. A job and the jobs
that continue it after a failure are the attempts of one lineage, counted from 0. Without JOB, there is one
row for each lineage, with its newest job. With JOB, any attempt, its attempts are listed: what ended each,
what jobmon decided then and why, the checkpoint, the step at which each began, and how many steps the
next one repeated."""
EPILOG = """\
STATE is pending, running, deciding (the newest attempt has ended), `restart in 42s`, held (`jobmon restart
--release JOB` lets it go on), submitting, `your decision` (`jobmon restart JOB` restarts it), or ended, with
the reason. A decision in brackets is only observed: nothing was done.

The effective training time ratio is the share of the time since the first start in which steps were computed
that were not repeated later. Waits in the queue, delays and repeated steps lower it.

--json prints a list of objects; with JOB, one object, which has the key `attempts`, too. Times are Unix
seconds; what is not known is null.

  lineage, name, newest_job, attempt_count
  mode        on, observe or off
  state       pending, running, deciding, restart due, held, submitting,
              your decision, ended
  why         the reason of the latest decision, or why it has ended
  due_at      when the next attempt is submitted
  held        whether `jobmon restart --hold` keeps it from being restarted
  checkpoint  path, step, saved_at of the newest that was picked
  time_ratio  the effective training time ratio, 0 to 1
  attempts    a list: attempt (its number), job, submitted_at, started_at,
              ended_at, resumed_from (a checkpoint), start_step, first_step
              (in its log), last_step, lost_steps (which the next attempt
              repeated) and decision: verdict (finished, restart, stop, ask),
              rule, why, cause, decided_at, due_at, budget, used, allowed,
              checkpoint, proof (of its death), options and observed

examples:
  jobmon restarts
  jobmon restarts 8123
  jobmon restarts 8123 --json | jq '.attempts[].lost_steps'"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="?", metavar="JOB", help=JOB_HELP)
    add_flags(parser, json="print JSON, as described above")


def run(options: Options) -> int:
    ctx, console = open_context(), table_console()
    now_s = ctx.clock.now()
    if options.job:
        summary = lineage_of(ctx, options.job)
        if options.json:
            print(json.dumps(summary_json(summary) | {"attempts": attempts_json(summary)}, indent=2))
        else:
            print(*attempts_lines(summary, now_s, console), sep="\n")
        return 0
    entries = list(all_lineages(ctx))
    found = [each for each in entries if not isinstance(each, str)]
    problems = [each for each in entries if isinstance(each, str)]
    for problem in problems:
        say(problem)
    if options.json:
        print(json.dumps([summary_json(each) for each in found], indent=2))
    else:
        print(*restarts_lines(found, now_s, console), sep="\n")
    return int(bool(problems))
