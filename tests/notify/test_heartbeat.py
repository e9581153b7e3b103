from __future__ import annotations

import logging

import pytest

from jobmon_core.domain.heartbeat import HeartbeatUrl
from jobmon_core.notify.heartbeat import call
from jobmon_core.notify.http import post
from tests.support.heartbeat_server import SECRET, HeartbeatServer


def test_a_call_that_is_taken_says_nothing() -> None:
    with HeartbeatServer() as dead_man:
        assert call(HeartbeatUrl.parse(dead_man.url), post, "1.0") == ""
        assert dead_man.calls == [f"/{SECRET}"]


@pytest.mark.parametrize("status", [301, 404, 500])
def test_a_call_that_is_not_taken_is_told_without_its_address(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with HeartbeatServer(status) as dead_man:
        assert call(HeartbeatUrl.parse(dead_man.url), post, "1.0") == f"127.0.0.1 answered {status}"
    assert '"POST /[hidden] HTTP/1.1"' in caplog.text
    assert SECRET not in caplog.text


def test_where_nobody_listens_it_is_told_without_the_address() -> None:
    with HeartbeatServer() as gone:
        url = gone.url
    assert call(HeartbeatUrl.parse(url), post, "1.0") == "could not reach 127.0.0.1: Connection refused"
