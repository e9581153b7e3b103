"""``jobmon patrol``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.commands.autostart import add_install_arguments, install, uninstall
from jobmon.commands.common import (
    JOB_HELP,
    Options,
    Parser,
    add_flags,
    add_json,
    jobmon_command,
    open_context,
    period_s,
    print_result,
)
from jobmon.errors import UsageError, say
from jobmon.views.console import Console
from jobmon.views.patrol import patrol_json, patrol_lines, seen_job
from jobmon_core.app.live.patrol import (
    check_channel,
    in_bounded_time,
    log_patrol,
    look,
    named_state_ids,
    read_memory,
    remove_entries,
    save_memory,
    send_patrol,
)
from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.many.patrol import (
    DEFAULT_MINUTES,
    PROBLEM,
    Memory,
    Patrol,
    patrol_command,
    remembered,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.app.autostart import Autostart
    from jobmon_core.context import Context

DESCRIPTION = """\
Look once at everything that is watched, and print one line, even if nothing has changed; lines about what
has changed since the last patrol follow: states, progress, checkpoints, the number of output files
compared with the expected number, marker files, warnings, and the result files that a job configuration
names, quoted verbatim. It also says what is wrong with jobmon itself: a dead monitor, an outdated answer from
Slurm, a message that was not delivered.

It changes nothing, does not query Slurm, needs no terminal and looks for at most a minute, so it suits cron
and other programs. With --to, a channel gets the lines too. Changes are relative to the last patrol for the
same channel; patrols without --to that you run and those that --install runs are remembered separately.

--install makes this machine patrol every 30 minutes (--every). It shows the entry and asks first. The lines
go to the channel of --to, else to logs/patrol.log. The entry removes itself when nothing is watched any
more."""
EPILOG = """\
exit codes:
  0   all is well
  1   a warning: e.g. a stall, a dead monitor, a doubtful success
  2   critical: a job failed, will probably fail, or its outcome is unknown; or
      looking at the jobs failed
A job that ended counts in the first patrol after its end, and whenever it is named.

--json prints one object: at since exit_code summary done failed_before, problems (a list of severity kind
text) and jobs, each with job_id name state outcome reason new changes problems progress items_processed
unit outputs expected_outputs checkpoints newest_checkpoint markers results. at and since are Unix seconds;
done: nothing is watched any more; failed_before: how many other failed jobs `jobmon status` lists; markers:
what `done` of a job configuration names, and whether it is there; results: a list of name text new. What is
not known is null.

examples:
  jobmon patrol
  jobmon patrol 8123 train
  jobmon patrol --json | jq -r .summary
  jobmon patrol --to error             the channel with this name gets the lines too
  jobmon patrol --install --every 30m --to error
  jobmon patrol --uninstall"""
_LOG_READER = "log of --unattended"
_MINUTE_S = 60.0


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "job", nargs="*", metavar="JOB|GROUP", help=f"look only at these: a group, {JOB_HELP}"
    )
    add_json(parser)
    parser.add_argument("--to", default="", metavar="CHANNEL", help="also send the lines to this channel")
    modes = add_install_arguments(parser)
    add_flags(
        modes,
        unattended="print nothing, and remove the entry when nothing is watched any more (what --install "
        "runs)",
    )
    parser.add_argument(
        "--every",
        type=period_s,
        metavar="TIME",
        help=f"with --install: how often, e.g. 15m, 1h, 1d (default: {DEFAULT_MINUTES}m)",
    )


def run(options: Options) -> int:
    """Patrol, or install or uninstall the entry; ``--unattended`` returns 0."""
    ctx = open_context()
    if options.install or options.uninstall:
        return _change_entry(ctx, options)
    if options.yes or options.every:
        raise UsageError(
            "--every requires --install" if options.every else "--yes requires --install or --uninstall"
        )
    if options.to:
        check_channel(ctx, options.to)
    state_ids = named_state_ids(ctx, options.job)
    if options.job and not state_ids:
        raise JobmonError("no run of this group has been submitted yet")
    # the reader is a channel, the log or the terminal; jobmon remembers the last patrol for each of them
    reader = options.to or (_LOG_READER if options.unattended else "")
    before, problem = read_memory(ctx, reader)
    patrol = in_bounded_time(Patrol, lambda: look(ctx, state_ids, before, seen_job))
    if problem:
        unknown = Finding(Severity.WARNING, problem, id=PROBLEM)
        patrol = replace(patrol, problems=(unknown, *patrol.problems))
    memory = remembered(before, patrol, names_jobs=bool(state_ids))
    return _tell(ctx, patrol, reader, memory, options)


def _tell(ctx: Context, patrol: Patrol, reader: str, memory: Memory, options: Options) -> int:
    """Print, log and send the lines; then save what the next patrol must know."""
    plain = [*patrol_lines(patrol, Console())]
    if options.unattended:
        if patrol.is_done:
            plain += remove_entries(_autostart(ctx))
        if not options.to:
            log_patrol(ctx, plain)
    else:
        print_result(options, patrol_json, patrol_lines, patrol)
    severity = patrol.severity
    try:
        if options.to:
            severity = max(severity, _send(ctx, options.to, patrol.severity, plain))
        save_memory(ctx, reader, memory)
    except StorageFailed as error:
        say(f"the next patrol will say the same again: {error}")
        severity = max(severity, Severity.WARNING)
    return 0 if options.unattended else int(severity)


def _send(ctx: Context, channel: str, severity: Severity, lines: Sequence[str]) -> Severity:

    stored = send_patrol(ctx, channel, severity, lines)
    if not stored.problem:
        return Severity.INFO
    say(f"channel {channel} has not accepted the message yet: {stored.problem}")
    return Severity.WARNING


def _autostart(ctx: Context, every_s: float | None = None, channel: str = "") -> Autostart:
    from jobmon_core.app.autostart import Autostart

    minutes = DEFAULT_MINUTES if every_s is None else every_s / _MINUTE_S
    return Autostart.of(ctx, jobmon_command(), regular=patrol_command(minutes, channel))


def _change_entry(ctx: Context, options: Options) -> int:
    if options.job or options.json:
        raise UsageError("an installed patrol looks at everything: name no job, and use no --json")
    if options.uninstall:
        return uninstall(_autostart(ctx), confirmed=options.yes)

    if options.to:
        check_channel(ctx, options.to)
    autostart = _autostart(ctx, options.every, options.to)
    if in_bounded_time(Patrol, lambda: look(ctx, (), Memory(), seen_job)).is_done:
        raise JobmonError(
            "nothing is watched, so a patrol has nothing to look at; submit or watch a job first"
        )
    return install(autostart, options.install, confirmed=options.yes)
