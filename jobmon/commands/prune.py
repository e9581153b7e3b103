"""``jobmon prune``: remove the records of all jobs that ended some time ago."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import is_confirmed, open_context, period_s
from jobmon.errors import say
from jobmon.views.model import stamp
from jobmon_core.app.jobs.find import last_change_s
from jobmon_core.app.jobs.forget import prune
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    import argparse

    from jobmon_core.app.jobs.forget import Removal
    from jobmon_core.context import Context

DESCRIPTION = """\
Remove jobmon's records (state file, log of the monitor, diagnostics bundles, measurements, your notes) of
all jobs that ended, or that you stopped watching, longer ago than --older-than says. The jobs' own output
is not touched. The command keeps
the records of jobs that are still watched, and of ended jobs with an undelivered message or an outage whose
end is not reported yet. On a terminal, it asks before removing anything."""
EPILOG = """\
examples:
  jobmon prune --older-than 30d --dry-run    list what would be removed
  jobmon prune --older-than 30d
  jobmon prune --older-than 30d --yes        without a question"""
_NAMES_SHOWN = 5
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        type=period_s,
        required=True,
        metavar="TIME",
        help="e.g. 36h, 30d or 8w; m stands for minutes",
    )
    parser.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    """Remove the records and print each job; report on stderr what is kept, and why; return 1 if declined."""
    ctx, removed = open_context(), 0
    if (
        not (options.dry_run or options.yes)
        and sys.stdin.isatty()
        and not _is_confirmed(ctx, options.older_than)
    ):
        return 1
    for removal in prune(ctx, options.older_than, dry_run=options.dry_run):
        if removal.removed:
            removed += 1
            print(one_line(f"{'would remove' if options.dry_run else 'removed'}: {_described(removal)}"))
        else:
            say(one_line(f"{removal.subject}: not removed: {removal.kept_because}"))
    verb = "removed"
    if options.dry_run:
        verb = "would be removed"
    print(f"records of {count(removed, 'job')} {verb}" if removed else "nothing to remove")
    return 0


def _is_confirmed(ctx: Context, older_than_s: float) -> bool:
    """Return whether to go on; if there are records to remove, ask the user.

    The question spells the period out: 1m may have been meant as a month.
    """
    names = [removal.subject for removal in prune(ctx, older_than_s, dry_run=True) if removal.removed]
    if not names:
        return True
    period = next(
        count(int(older_than_s // unit_s), name) for name, unit_s in _UNITS if not older_than_s % unit_s
    )
    jobs = one_line(f"{count(len(names), 'job')} ({listed(names, _NAMES_SHOWN)})")
    return is_confirmed(f"Remove the records of {jobs}, older than {period}?", "nothing was removed")


def _described(removal: Removal) -> str:
    if removal.job is None:
        return removal.subject
    ended = stamp(last_change_s(removal.job), "%Y-%m-%d")
    return f"{removal.subject}, {removal.job.outcome or 'no longer watched'}, {ended}"
