"""``jobmon digest``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.autostart import add_install_arguments, install, uninstall
from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    jobmon_command,
    open_context,
    print_result,
)
from jobmon.errors import UsageError, say
from jobmon.views.digest import digest_json, digest_lines, period_text, texts
from jobmon_core.app.history.digest import collect_digest, due_period, last_period, send_digest
from jobmon_core.app.live.patrol import check_channel

if TYPE_CHECKING:
    from jobmon_core.app.autostart import Autostart
    from jobmon_core.context import Context

DESCRIPTION = """\
Show in up to eight lines what the runs that ended yesterday, or in the last week, took: outcomes, GPU hours
and cost, what was lost and to which cause, idle GPUs, what got slower, nodes that kill runs, failures that
nobody acknowledged, and jobs that run idle. A line with nothing to say is left out.

With --to, a channel gets the lines, too, once for each day or week. If this machine was down, the next digest
is about all days since the last one. --install sends them from 7 o'clock on; it shows the entry and asks
first. There is one entry: a second --install replaces it."""
EPILOG = """\
A day begins at midnight by the clock of this host, a week on Monday. A failed job counts as acknowledged
after `jobmon ack`, or if a further attempt of its lineage followed.

examples:
  jobmon digest
  jobmon digest --weekly
  jobmon digest --weekly --install --to success
  jobmon digest --uninstall"""


def add_arguments(parser: Parser) -> None:
    periods = parser.add_mutually_exclusive_group()
    add_flags(periods, daily="of yesterday (the default)", weekly="of the last week, from Monday to Sunday")
    add_flags(parser, json="print JSON (see docs/history.md)")
    parser.add_argument("--to", default="", metavar="CHANNEL", help="also send the lines to this channel")
    modes = add_install_arguments(parser)
    add_flags(modes, unattended="print nothing (what --install runs)")


def run(options: Options) -> int:
    """Show or send a digest, or install or uninstall the entry; 1 if the channel has not accepted it yet."""
    ctx = open_context()
    if options.install or options.uninstall:
        return _change_entry(ctx, options)
    if options.yes:
        raise UsageError("--yes requires --install or --uninstall")
    if options.unattended and not options.to:
        raise UsageError("--unattended requires --to")
    period = last_period(ctx.clock.now(), weekly=options.weekly)
    due = None
    if options.to:
        check_channel(ctx, options.to)
        due = due_period(ctx, options.to, weekly=options.weekly)
    if options.unattended and not due:
        return 0
    digest = collect_digest(ctx, *(due or period))
    if not options.unattended:
        print_result(options, digest_json, digest_lines, digest)
    if not due:
        if options.to:
            say(f"channel {options.to} has had the digest of {period_text(digest)}; it is not sent again")
        return 0
    stored = send_digest(ctx, options.to, digest, texts(digest), weekly=options.weekly)
    if stored.problem:
        say(f"channel {options.to} has not accepted the digest yet: {stored.problem}; jobmon tries again")
    return int(bool(stored.problem) and not options.unattended)


def _change_entry(ctx: Context, options: Options) -> int:
    if options.json:
        raise UsageError("--json shows a digest: use it without --install and --uninstall")
    if options.uninstall:
        return uninstall(_autostart(ctx, options), confirmed=options.yes)
    if not options.to:
        raise UsageError("--install requires --to CHANNEL, which gets the digests")
    check_channel(ctx, options.to)
    return install(_autostart(ctx, options), options.install, confirmed=options.yes)


def _autostart(ctx: Context, options: Options) -> Autostart:
    from jobmon_core.app.autostart import Autostart
    from jobmon_core.domain.many.autostart.command import RegularCommand

    regular = RegularCommand(
        "jobmon digest",
        ("digest", "--weekly" if options.weekly else "--daily", "--unattended", "--to", options.to),
        "3 7-22 * * *",  # each hour of a day, since a machine may be down
        "7..22:03",
        "send what all runs took",
        marker_suffix="-digest",
    )
    return Autostart.of(ctx, jobmon_command(), regular=regular)
