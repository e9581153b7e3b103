"""What a form of a page does: acknowledge, mute, note."""

from __future__ import annotations

from argparse import ArgumentTypeError
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from jobmon.commands.common import period_s
from jobmon.views.html import parts
from jobmon_core.app.messages.mute import acknowledge, mute
from jobmon_core.app.records.note import add_note
from jobmon_core.app.web.serve import BadRequest, Request, Response
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from jobmon_core.context import Context

_MAX_NAME = 200  # characters


def done_by(ctx: Context, request: Request) -> Response:
    """Do what a form asks for, and lead to the page of the job or group; BadRequest for another act."""
    act, name = request.form.get("act", ""), request.form.get("job", "")[:_MAX_NAME]
    try:
        if act == "ack":
            acknowledge(ctx, name)
        elif act == "mute":
            mute(ctx, name, period_s(request.form.get("time", "1h")))
        elif act == "note":
            add_note(ctx, name, request.form.get("text", ""))
        else:
            raise BadRequest
    except (JobmonError, ArgumentTypeError) as error:
        page = parts.problem_page(error, parts.Visitor(request.form_key))
        return Response(page, HTTPStatus.UNPROCESSABLE_ENTITY)
    kind = "group" if ctx.groups.exists(name) else "job"
    place = f"Location: /{kind}/{quote(name, safe='')}?done={act}"
    return Response(status=HTTPStatus.SEE_OTHER, headers=(place,))
