"""Which address shows what, and how long a page that was made is shown again."""

from __future__ import annotations

import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from jobmon.commands.pages.now import NowMaker
from jobmon.errors import say
from jobmon.views.html import parts, resource
from jobmon.views.html.parts import Visitor
from jobmon_core.app.web.partitions import Partitions
from jobmon_core.app.web.serve import CSS, JAVASCRIPT, BadRequest, Request, Response, in_child
from jobmon_core.domain.errors import JobmonError, UnknownJob

if TYPE_CHECKING:
    from jobmon_core.context import Context

_MAX_NAME = 200  # characters of a job or group in an address
_LISTS = ("groups", "history", "nodes")
_MAX_SHARE = 0.01  # of a core, for a page that is open
_MAX_AGE_S = 30.0  # of a page that is shown again
_MAX_MADE = 7
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
        self._now = NowMaker(ctx)
        self._partitions = Partitions(ctx)
        self._made: dict[tuple[object, ...], _Made] = {}  # the latest last

    def __call__(self, request: Request) -> Response:
        """Answer a request; BadRequest for an address that shows nothing."""
        if request.path == "/style.css":
            return Response(resource("base.css") + resource("site.css"), content_type=CSS)
        if request.path == "/script.js":
            return Response(resource("site.js"), content_type=JAVASCRIPT)
        if request.path == "/act":
            self._made = {}
            return in_child(lambda: self._answer(request), say)
        # without actions, a page is the same for all visitors
        key = (request.path, *sorted(request.query.items()), self._visitor(request).form_key)
        began_s = time.monotonic()
        known = self._made.pop(key, None)
        if known is None or began_s >= known.again_s:
            known = self._make(request, began_s)
        self._made = {**dict([*self._made.items()][-_MAX_MADE:]), key: known}
        return known.response

    def _visitor(self, request: Request) -> Visitor:
        return Visitor(request.form_key if self._can_act else "")

    def _make(self, request: Request, began_s: float) -> _Made:
        if request.path == "/nodes":
            self._partitions.free()  # here, so that it is known next time
        response, now_s = in_child(lambda: self._answer(request), say), time.monotonic()
        pause_s = min(_MAX_AGE_S, (now_s - began_s) / _MAX_SHARE) if response.body else 0.0
        return _Made(response, now_s + pause_s)

    def _answer(self, request: Request) -> Response:
        try:
            if request.path == "/act":
                return self._act(request)
            page = self._page(request, self._visitor(request))
        except BadRequest as refused:
            return Response(status=refused.status)
        # a time that has only become older is no change: the script keeps it up to date
        etag = f"{crc32(_AGE.sub('', page).encode('utf-8', 'replace')):08x}"
        return Response(page, etag=etag, made_s=self._ctx.clock.now())

    def _page(self, request: Request, visitor: Visitor) -> str:
        _, kind, *rest = request.path.split("/", 2)
        name = "".join(rest)[:_MAX_NAME]
        query = {name: value[:_MAX_NAME] for name, value in request.query.items()}
        try:
            if kind == "" and not name:
                return self._now.page(query.get("q", ""), visitor)
            if kind == "job" and name:
                from jobmon.commands.pages.job import job_page

                return job_page(self._ctx, name, query, visitor)
            if kind == "group" and name:
                from jobmon.commands.pages.lists import group_page

                return group_page(self._ctx, name, query.get("sort", ""), visitor)
            if kind in _LISTS and not name:
                return self._list(kind, query, visitor)
        except UnknownJob as error:
            raise BadRequest(HTTPStatus.NOT_FOUND) from error
        except JobmonError as error:
            return parts.problem_page(error, visitor)
        raise BadRequest(HTTPStatus.NOT_FOUND)

    def _list(self, kind: str, query: dict[str, str], visitor: Visitor) -> str:
        from jobmon.commands.pages import lists

        if kind == "groups":
            return lists.groups_page(self._ctx, visitor)
        if kind == "history":
            return lists.past_page(self._ctx, query, visitor)
        return lists.nodes_page(self._ctx, self._partitions, visitor)

    def _act(self, request: Request) -> Response:
        if not (self._can_act and request.method == "POST"):
            raise BadRequest(HTTPStatus.NOT_FOUND)
        from jobmon.commands.pages.acts import done_by

        return done_by(self._ctx, request)
