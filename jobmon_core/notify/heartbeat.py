"""Calls the URL of the dead man's switch."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.notify.http import HttpRequest, HttpResponse, post

if TYPE_CHECKING:
    from jobmon_core.domain.heartbeat import HeartbeatUrl

_TIMEOUT_S = 5.0  # short, because the monitor waits for it and calls again anyway


def call(address: HeartbeatUrl) -> str:
    """Call the URL once; return why that failed, empty after a success."""
    answer = post(HttpRequest(address.url, str(address), b"{}", f"jobmon/{__version__}"), _TIMEOUT_S)
    if not isinstance(answer, HttpResponse):
        return answer.why
    if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return ""
    return f"{address} answered {answer.status}"
