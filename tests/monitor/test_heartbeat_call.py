from __future__ import annotations

import logging

import pytest

from jobmon_core.domain.heartbeat import HeartbeatUrl
from jobmon_core.monitor.heartbeat import call_url
from tests.support.heartbeat_server import SECRET, HeartbeatServer


def test_a_successful_call_returns_nothing() -> None:
    with HeartbeatServer() as dead_man:
        assert call_url(HeartbeatUrl.parse(dead_man.url)) == ""
        assert dead_man.calls == [f"/{SECRET}"]


@pytest.mark.parametrize("status", [301, 404, 500])
def test_a_failed_call_returns_the_status_without_the_url(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with HeartbeatServer(status) as dead_man:
        assert call_url(HeartbeatUrl.parse(dead_man.url)) == f"127.0.0.1 answered {status}"
    assert SECRET not in caplog.text


def test_a_refused_connection_is_reported_without_the_url() -> None:
    with HeartbeatServer() as gone:
        url = gone.url
    assert call_url(HeartbeatUrl.parse(url)) == "could not reach 127.0.0.1: Connection refused"
