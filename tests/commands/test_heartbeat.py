"""The dead-man's switch, called by a real monitor of the local scheduler."""

from __future__ import annotations

import json

import pytest

from tests.support.files import contents
from tests.support.heartbeat_server import SECRET, HeartbeatServer
from tests.support.shell import Shell
from tests.support.waiting import eventually

_UNTIL_GO = "until [ -e go ]; do read -rt 0.5 <> <(:); done"


def submit(shell: Shell, dead_man: HeartbeatServer) -> None:
    config = {"heartbeat_url": dead_man.url, "poll": {"running_s": 5, "pending_s": 5}, "backend": "local"}
    (shell.home / "config.json").write_text(json.dumps(config))
    (shell.home / "config.json").chmod(0o600)
    (shell.work / "job.sh").write_text(f"#!/bin/bash\n{_UNTIL_GO}\n")
    done = shell.jobmon("submit", "job.sh")
    assert done.returncode == 0, done


def is_done(shell: Shell) -> bool:
    return all(
        job["monitor"] == "done" for job in json.loads(shell.jobmon("status", "--all", "--json").stdout)
    )


@pytest.mark.parametrize("status", [200, 500])
def test_a_watch_that_sees_calls_it_and_goes_on_whatever_the_answer(shell: Shell, status: int) -> None:
    with HeartbeatServer(status) as dead_man:
        submit(shell, dead_man)
        try:
            eventually(lambda: bool(dead_man.calls))
        finally:
            (shell.work / "go").touch()
        eventually(lambda: is_done(shell))
    assert set(dead_man.calls) == {f"/{SECRET}"}
    for folder in (shell.state, shell.home / "logs"):
        assert [path for path, content in contents(folder).items() if SECRET.encode() in content] == []
    logs = "".join(log.read_text() for log in (shell.home / "logs").iterdir())
    assert ("the heartbeat failed: 127.0.0.1 answered 500" in logs) is (status == 500)
