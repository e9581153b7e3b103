"""The first page: what needs attention, what runs, waits, and ended lately."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.commands.status import notices
from jobmon.views.html.now import NowPage, now_html
from jobmon.views.top.state import matching
from jobmon_core.app.jobs.find import RECENT_S, group_of, last_change_s
from jobmon_core.app.live.jobs import LiveJobs

if TYPE_CHECKING:
    from jobmon.views.html.parts import Visitor
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob


class NowMaker:
    """Makes the page; each file is read again only after it has changed."""

    def __init__(self, ctx: Context) -> None:
        """Read nothing yet."""
        self._ctx, self._live = ctx, LiveJobs(ctx, ended_within_s=RECENT_S)

    def page(self, wanted: str, visitor: Visitor) -> str:
        """Return the page of the jobs whose id, name or state contain ``wanted``."""
        listing = self._live.listing()
        watched = {each.job.id: each.status for each in listing.tasks}
        texts = [*notices(self._ctx, [*watched.values(), *listing.ended])]
        acks = self._ctx.alerts.user().acks
        known = {
            each.job.id for each in listing.ended if acks.get(each.job.id, 0.0) >= last_change_s(each.job)
        }
        ended = [each for each in listing.ended if wanted.casefold() in _named(each.job)]
        listing = replace(listing, tasks=tuple(matching(listing.tasks, wanted)), ended=tuple(ended))
        return now_html(NowPage(listing, texts, frozenset(known), wanted), visitor)


def _named(job: WatchedJob) -> str:
    return f"{job.ref} {job.label} {group_of(job)}".casefold()
