from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.store.home import Home

CHECKOUT = Path(__file__).resolve().parents[1]


def test_a_test_cannot_reach_the_network() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        pytest.raises(AssertionError, match="must not connect to another machine"),
    ):
        datagrams.connect(("192.0.2.1", 9))


def test_a_test_cannot_write_to_the_home_of_the_user_who_runs_it() -> None:
    ctx = Context(Home(CHECKOUT), {})
    with pytest.raises(AssertionError, match="must not access"):
        ctx.monitor_log("x").path.write_text("x", encoding="utf-8")


def test_a_test_has_its_own_home_and_no_webhook(tmp_path: Path) -> None:
    assert Context.open(os.environ).home.root == tmp_path / "jobmon"
    assert not Context.open(os.environ).configuration().channels
