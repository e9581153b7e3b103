"""The pages of groups, of the history and of the nodes."""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING

from jobmon.commands.common import period_s
from jobmon.views.html.group import GroupPage, group_html, groups_html
from jobmon.views.html.nodes import NodesPage, nodes_html
from jobmon.views.html.past import PERIODS, history_page
from jobmon_core.app.groups.jobs import group_overview, runs_of
from jobmon_core.app.history.look import nodes_seen, overview
from jobmon_core.app.web.serve import BadRequest
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.history.nodes import WINDOW_S
from jobmon_core.domain.job.history.totals import BY, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon.views.html.parts import Visitor
    from jobmon_core.app.web.partitions import Partitions
    from jobmon_core.context import Context

_RUNS = 50  # that the history lists


def groups_page(ctx: Context, visitor: Visitor) -> str:
    """Return the list of all groups."""
    found = []
    for name in ctx.groups.names():
        with suppress(JobmonError):  # `jobmon group list` reports one that cannot be read
            group = ctx.groups.load(name)
            found.append((group, runs_of(ctx, group)))
    return groups_html(found, ctx.clock.now(), visitor)


def group_page(ctx: Context, name: str, sort: str, visitor: Visitor) -> str:
    """Return the page of a group, sorted as its table says; BadRequest with 404 if there is none."""
    if name not in ctx.groups.names():
        raise BadRequest(HTTPStatus.NOT_FOUND)
    group = ctx.groups.load(name)
    runs = runs_of(ctx, group)
    page = GroupPage(group, runs, group_overview(ctx, group, runs), ctx.clock.now(), sort)
    return group_html(page, visitor)


def past_page(ctx: Context, query: Mapping[str, str], visitor: Visitor) -> str:
    """Return the history of the runs that the filters in ``query`` leave."""
    since_s = None
    if query.get("since") in PERIODS and query["since"]:
        since_s = ctx.clock.now() - period_s(query["since"])
    by = query.get("by", "") if query.get("by") in BY else ""
    wanted = Wanted.chosen(since_s, query)
    return history_page(overview(ctx, wanted, by, "ended", _RUNS), query, visitor)


def nodes_page(ctx: Context, partitions: Partitions, visitor: Visitor) -> str:
    """Return what the partitions have free, and what the user's runs took on each node."""
    totals, suspects = nodes_seen(ctx, WINDOW_S)
    page = NodesPage(totals, suspects, WINDOW_S / 86_400, partitions.free(), ctx.clock.now())
    return nodes_html(page, visitor)
