"""`jobmon web` through a real sshd: by the line that it prints, and where the server forwards no sockets."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.context import Context
from tests.support.loopback import free_ports
from tests.support.many_jobs import fill
from tests.support.ssh_server import own_server, unusable
from tests.support.waiting import eventually
from tests.support.web import Answer, Web, sent

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(bool(unusable()), reason=unusable()),
]


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    return fill(tmp_path / "home", 8)


@pytest.fixture(params=["yes", "no"])
def server(
    request: pytest.FixtureRequest, ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A host named ``login`` with jobmon, to which the user logs in; whether it forwards sockets."""
    there = tmp_path / "there"
    there.mkdir()
    jobmon = there / "jobmon"
    jobmon.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m jobmon "$@"\n')
    jobmon.chmod(0o755)
    settings = f"AllowStreamLocalForwarding {request.param}\n"
    variables = {"JOBMON_HOME": str(ctx.home.root), "PATH": f"{there}:/usr/bin:/bin"}
    with own_server(tmp_path / "sshd", "login", settings, variables) as client:
        monkeypatch.setenv("PATH", f"{client}:{os.environ['PATH']}")
        yield


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("server", ["yes"], indirect=True)
def test_the_printed_line_makes_the_page_a_port_of_the_laptop(ctx: Context, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with Web(ctx.home.root, tmp_path) as web:
        line = next(each for each in web.printed.splitlines() if "ssh -N" in each)
        *command, _host = shlex.split(line.replace("127.0.0.1:8765:", f"127.0.0.1:{port}:"))
        forwarding = subprocess.Popen([*command, "login"], stdin=subprocess.DEVNULL)
        try:

            def ask(path: str, cookie: str = "") -> Answer:
                head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
                return sent(web.connection_to(port), head.encode())

            eventually(lambda: web.is_open(port))
            assert ask("/").status == 401
            welcome = ask(f"/?token={web.token}")
            assert welcome.status == 303
            page = ask("/", welcome.headers["set-cookie"].partition(";")[0])
            assert "train-llama-7b" in page.body
            assert ask(f"/?token={web.token}").status == 401
        finally:
            forwarding.terminate()
            forwarding.wait()


@pytest.mark.usefixtures("server")
def test_a_laptop_shows_the_jobs_whether_or_not_the_server_forwards_sockets(
    tmp_path: Path,
) -> None:
    laptop = tmp_path / "laptop"
    with Web(laptop, tmp_path, "--connect", "login") as web:
        assert web.ask("/").status == 401
        web.enter()
        page = web.ask("/job/8123")
        assert page.status == 200
        assert "train-llama-7b" in page.body
        assert "step 299 loss" in page.body
        assert web.ask("/nothing").status == 404
    assert not (laptop / "state").exists()  # nothing is kept on the laptop
