"""Calling the address whose silence is the alarm."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from jobmon_core.notify.base import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from jobmon_core.domain.heartbeat import HeartbeatUrl
    from jobmon_core.notify.base import Post

TIMEOUT_S = 5.0  # the watch stands still meanwhile, and another call follows anyway


def call(address: HeartbeatUrl, send: Post, version: str) -> str:
    """Call it once; return why that failed, empty where the other side took it."""
    answer = send(HttpRequest(address.url, str(address), b"{}", f"jobmon/{version}"), TIMEOUT_S)
    if not isinstance(answer, HttpResponse):
        return answer.why
    if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return ""
    return f"{address} answered {answer.status}"
