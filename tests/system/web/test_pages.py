"""What makes the pages may be on a machine that is trusted less: it cannot do more than show pages."""

from __future__ import annotations

import json
import sys
from http import HTTPStatus

import pytest

from jobmon_core.system.web.pages import PageProcess
from jobmon_core.system.web.request import BadRequest, Request, Response

_PROGRAM = """
import sys
print(sys.argv[1], flush=True)
for line in sys.stdin:
    print(sys.argv[2], flush=True)
"""


def _answer(said: object, greeting: str = "jobmon-web 1") -> Response:
    pages = PageProcess((sys.executable, "-c", _PROGRAM, greeting, json.dumps(said)))
    try:
        return pages.answer(Request("GET", "/"))
    finally:
        pages._end()  # noqa: SLF001 - as the end of the server does


def _said(**changes: object) -> dict[str, object]:
    usual = {
        "body": "text",
        "status": 200,
        "content_type": "text/html",
        "etag": "",
        "made_s": 1.0,
        "headers": [],
    }
    return usual | changes


def test_a_page_is_passed_on() -> None:
    assert _answer(_said()).body == "text"
    assert _answer(_said(status=303, headers=["Location: /job/12?done=ack"])).status is HTTPStatus.SEE_OTHER


def test_a_refusal_is_left_to_the_server_to_word() -> None:
    with pytest.raises(BadRequest) as refused:
        _answer(_said(status=404, body=""))
    assert refused.value.status is HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    "said",
    [
        _said(headers=["Set-Cookie: jobmon-1=x"]),
        _said(headers=["Location: /\r\nSet-Cookie: x=y"]),
        _said(headers=["Location: //evil.example/"]),
        _said(headers=["Location: http://evil.example/"]),
        _said(content_type="text/html\r\nX: y"),
        _said(content_type="image/svg+xml"),
        _said(etag='"\r\nX: y'),
        _said(status="x"),
        {"body": "text"},
        ["nonsense"],
        "nonsense",
    ],
)
def test_what_is_no_answer_of_jobmon_is_refused(said: object) -> None:
    with pytest.raises(BadRequest) as refused:
        _answer(said)
    assert refused.value.status is HTTPStatus.SERVICE_UNAVAILABLE
