"""A page is made by a child process, whatever happens to that."""

from __future__ import annotations

import os
import signal
from http import HTTPStatus

import pytest

from jobmon_core.app.web.serve import BadRequest, Response, in_child


def _killed() -> Response:
    os.kill(os.getpid(), signal.SIGKILL)
    return Response()


def _at_fault() -> Response:
    raise ZeroDivisionError("while the page was made")


def test_a_page_of_a_child_is_whole() -> None:
    page = Response("<p>ü</p>", HTTPStatus.UNPROCESSABLE_ENTITY, etag="ab", made_s=2.5, headers=("A: b",))
    assert in_child(lambda: page, pytest.fail) == page


def test_a_child_that_is_killed_or_fails_is_reported_and_the_request_refused() -> None:
    for work, why in ((_killed, "ended without a result"), (_at_fault, "while the page was made")):
        said: list[str] = []
        with pytest.raises(BadRequest) as refused:
            in_child(work, said.append)
        assert refused.value.status is HTTPStatus.SERVICE_UNAVAILABLE
        assert why in said[0]
