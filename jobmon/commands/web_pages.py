"""The pages of `jobmon web`: which address shows what. They are made from the records that commands print."""

from __future__ import annotations

import hashlib
import re
import time
from argparse import ArgumentTypeError
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon.commands.common import period_s
from jobmon.commands.group_verbs import group_overview
from jobmon.commands.status import notices
from jobmon.views.html import parts, resource
from jobmon.views.html.group import GroupPage, group_html, groups_html
from jobmon.views.html.job import JobPage, job_html
from jobmon.views.html.now import NowPage, now_html
from jobmon.views.html.parts import Visitor
from jobmon.views.html.past import PERIODS, history_page, nodes_page
from jobmon.views.report.page import prose
from jobmon.views.top.state import matching
from jobmon_core.app.groups.jobs import runs_of
from jobmon_core.app.history.look import literal, nodes_seen
from jobmon_core.app.history.look import overview as past_overview
from jobmon_core.app.jobs.find import RECENT_S, find_job, group_of, last_change_s
from jobmon_core.app.jobs.output import known_files, last_lines, task_to_read
from jobmon_core.app.jobs.overview import current_status, lineages_of
from jobmon_core.app.jobs.report import collect_report, with_alike
from jobmon_core.app.live.jobs import LiveJobs
from jobmon_core.app.messages.mute import acknowledge, job_alerts, mute
from jobmon_core.app.records.note import add_note
from jobmon_core.app.web.serve import CSS, JAVASCRIPT, BadRequest, Request, Response
from jobmon_core.domain.errors import JobmonError, StorageFailed, UnknownJob
from jobmon_core.domain.job.history.nodes import WINDOW_S
from jobmon_core.domain.job.history.totals import BY, Wanted

if TYPE_CHECKING:
    from jobmon.views.console import Lines
    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group

_MAX_NAME = 200  # characters of a job or group in an address
_LOG_LINES = 200
_RUNS = 50  # that the history lists
_LISTS = ("groups", "history", "nodes")
_MAX_SHARE = 0.01  # of a core, for a page that is open
_MAX_AGE_S = 30.0  # of a page that is shown again
_MAX_MADE = 15
_AGE = re.compile(r">[^<]*</time>")


class _Made(NamedTuple):
    """A page, and from when (monotonic clock) it is made again: one that costs much is made less often."""

    response: Response
    again_s: float


class WebPages:
    """Answers requests of one user; ``can_act``: also acknowledges, mutes and notes."""

    def __init__(self, ctx: Context, *, can_act: bool = False) -> None:
        """Read nothing yet."""
        self._ctx, self._can_act = ctx, can_act
        self._live = LiveJobs(ctx, ended_within_s=RECENT_S)
        self._made: dict[tuple[object, ...], _Made] = {}  # the latest last

    def prepare(self) -> None:
        """Read the jobs and load what a page needs, so that the first one is quick."""
        now_html(self._now(""), Visitor())

    def __call__(self, request: Request) -> Response:
        """Answer a request; BadRequest for an address that shows nothing."""
        if request.path == "/style.css":
            return Response(resource("base.css") + resource("site.css"), content_type=CSS)
        if request.path == "/script.js":
            return Response(resource("site.js"), content_type=JAVASCRIPT)
        if request.path == "/act":
            return self._act(request)
        key = (request.path, *sorted(request.query.items()), request.form_key)
        began_s = time.monotonic()
        known = self._made.pop(key, None)
        if known is None or began_s >= known.again_s:
            known = self._make(request, began_s)
        self._made = {**dict([*self._made.items()][-_MAX_MADE:]), key: known}
        return known.response

    def _make(self, request: Request, began_s: float) -> _Made:
        page = self._page(request, Visitor(request.form_key if self._can_act else ""))
        # a time that has only become older is no change: the script keeps it up to date
        etag = hashlib.blake2b(_AGE.sub("", page).encode("utf-8", "replace"), digest_size=12).hexdigest()
        now_s = time.monotonic()
        pause_s = min(_MAX_AGE_S, (now_s - began_s) / _MAX_SHARE)
        return _Made(Response(page, etag=etag, made_s=self._ctx.clock.now()), now_s + pause_s)

    def _page(self, request: Request, visitor: Visitor) -> str:
        _, kind, *rest = request.path.split("/", 2)
        name = "".join(rest)[:_MAX_NAME]
        try:
            if kind == "" and not name:
                return now_html(self._now(request.query.get("q", "")[:_MAX_NAME]), visitor)
            if kind == "job" and name:
                return job_html(self._job(name, request), visitor)
            if kind == "group" and name:
                return group_html(self._group(name, request.query.get("sort", "")), visitor)
            if kind in _LISTS and not name:
                return self._list(kind, request, visitor)
        except UnknownJob as error:
            raise BadRequest(HTTPStatus.NOT_FOUND) from error
        except JobmonError as error:
            return parts.site_page("Error", "", _problem(error), visitor)
        raise BadRequest(HTTPStatus.NOT_FOUND)

    def _job(self, name: str, request: Request) -> JobPage:
        ctx, now_s = self._ctx, self._ctx.clock.now()
        found, ref = find_job(ctx, name)
        job = current_status(ctx, found).job
        page = JobPage(job, str(ref), now_s, lineage=lineages_of(ctx, [job]).get(job.id))
        page = page._replace(
            alerts=job_alerts(ctx, job), done=request.query.get("done", ""), like=literal(job.label)
        )
        try:
            report = collect_report(ctx, str(ref))
            with suppress(StorageFailed):  # the page then does not compare the run with earlier ones
                report = with_alike(ctx, report)
            page = page._replace(report=report)
        except JobmonError as error:
            page = page._replace(why_not=str(error).removeprefix(f"job {ref} "))
        task, live = task_to_read(job, ref.key), page.report.live if page.report else None
        # only files that the job's own records name are opened
        logs = [*(live.progress.logs if live else ()), *(known_files(job, task) if task else ())]
        logs = list(dict.fromkeys(logs))
        number = request.query.get("log", "0")
        if not logs or not (number.isascii() and number.isdecimal() and int(number) < len(logs)):
            number = "0"
        log = last_lines(logs[int(number)], _LOG_LINES) if logs else None
        return page._replace(logs=logs, log=log)

    def _group(self, name: str, sort: str) -> GroupPage:
        if name not in self._ctx.groups.names():
            raise BadRequest(HTTPStatus.NOT_FOUND)
        group = self._ctx.groups.load(name)
        runs = runs_of(self._ctx, group)
        return GroupPage(group, runs, group_overview(self._ctx, group, runs), self._ctx.clock.now(), sort)

    def _list(self, kind: str, request: Request, visitor: Visitor) -> str:
        if kind == "groups":
            return groups_html(self._groups(), self._ctx.clock.now(), visitor)
        if kind == "nodes":
            return nodes_page(nodes_seen(self._ctx, WINDOW_S), WINDOW_S / 86_400, visitor)
        given = {name: value[:_MAX_NAME] for name, value in request.query.items()}
        since_s = None
        if given.get("since") in PERIODS and given["since"]:
            since_s = self._ctx.clock.now() - period_s(given["since"])
        by = given.get("by", "") if given.get("by") in BY else ""
        wanted = Wanted(
            since_s=since_s,
            name=given.get("name", ""),
            group=given.get("group", ""),
            state=given.get("state", ""),
            cause=given.get("cause", ""),
            node=given.get("node", ""),
        )
        data = past_overview(self._ctx, wanted, by, "ended", _RUNS)
        return history_page(data, given, visitor)

    def _groups(self) -> list[tuple[Group, list[GroupRun]]]:
        found = []
        for name in self._ctx.groups.names():
            with suppress(JobmonError):  # `jobmon group list` reports one that cannot be read
                group = self._ctx.groups.load(name)
                found.append((group, runs_of(self._ctx, group)))
        return found

    def _act(self, request: Request) -> Response:
        """Do what a form asks for, and show the job or group again."""
        if not (self._can_act and request.method == "POST"):
            raise BadRequest(HTTPStatus.NOT_FOUND)
        self._made = {}
        act, name = request.form.get("act", ""), request.form.get("job", "")[:_MAX_NAME]
        visitor = Visitor(request.form_key)
        try:
            if act == "ack":
                acknowledge(self._ctx, name)
            elif act == "mute":
                mute(self._ctx, name, period_s(request.form.get("time", "1h")))
            elif act == "note":
                add_note(self._ctx, name, request.form.get("text", ""))
            else:
                raise BadRequest
        except (JobmonError, ArgumentTypeError) as error:
            page = parts.site_page("Error", "", _problem(error), visitor)
            return Response(page, HTTPStatus.UNPROCESSABLE_ENTITY)
        kind = "group" if self._ctx.groups.exists(name) else "job"
        place = f"Location: /{kind}/{quote(name, safe='')}?done={act}"
        return Response(status=HTTPStatus.SEE_OTHER, headers=(place,))

    def _now(self, wanted: str) -> NowPage:
        listing = self._live.listing()
        watched = {each.job.id: each.status for each in listing.tasks}
        texts = [*notices(self._ctx, [*watched.values(), *listing.ended])]
        acks = self._ctx.alerts.user().acks
        known = {
            each.job.id for each in listing.ended if acks.get(each.job.id, 0.0) >= last_change_s(each.job)
        }
        ended = [each for each in listing.ended if wanted.casefold() in _named(each.job)]
        listing = replace(listing, tasks=tuple(matching(listing.tasks, wanted)), ended=tuple(ended))
        return NowPage(listing, texts, frozenset(known), wanted)


def _problem(error: Exception) -> Lines:
    yield parts.heading("This cannot be shown")
    yield f'<p class="notice"><b aria-hidden="true">!</b> {prose(str(error))}</p>'
    yield '<p><a href="/">All jobs</a></p>'


def _named(job: WatchedJob) -> str:
    return f"{job.ref} {job.label} {group_of(job)}".casefold()
