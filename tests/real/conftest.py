"""Fixtures: a private Slurm with accounting, a fake Discord and a user."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_slurm import Cluster

from tests.support.browser import Browser
from tests.support.fake_discord import FakeDiscord
from tests.support.ssh_jobs import BASHRC, Jobs
from tests.support.ssh_server import Box, running_box
from tests.support.user import User

# read at import, because the isolation of the tests removes it from the environment
_RUNNING = os.environ.get("JOBMON_PRIVATE_SLURM", "")
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """The cluster that `dev/with-slurm` started, or a new one."""
    if _RUNNING:
        yield Cluster.attach(_RUNNING)
        return
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    """A fake Discord for one test, which fails if a payload violates Discord's rules."""
    with FakeDiscord() as server:
        yield server
        assert not server.violations


@pytest.fixture
def user(slurm: Cluster, discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user of the cluster with a folder that slurmd can access."""
    folder = tmp_path / "u"
    folder.mkdir()
    somebody = User(folder, discord, {**_ENVIRONMENT, **slurm.env})
    yield somebody
    somebody.leave()


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The one browser of this worker: its start takes longer than most tests of a page."""
    with Browser(tmp_path_factory.mktemp("chromium")) as chromium:
        yield chromium


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """A window of its own for one test."""
    with chromium.window() as browser:
        yield browser


@pytest.fixture(scope="session")
def ssh_server() -> Iterator[Box]:
    """A host with a real sshd and a user of its own."""
    folder = Path(f"/tmp/jobmon-box-{os.getpid()}")
    folder.mkdir(mode=0o755)
    try:
        with running_box(folder) as box:
            yield box
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def box(ssh_server: Box, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """The host without jobs."""
    home = ssh_server.home
    (home / ".bashrc").write_text(BASHRC)
    (home / "boot_id").write_text("boot-1\n")
    (home / "hostname").write_text("login1\n")
    (home / "nobin").mkdir(exist_ok=True)
    tmux = home / "nobin/tmux"
    tmux.write_text("#!/bin/sh\nexit 1\n")
    tmux.chmod(0o755)
    for name, value in ssh_server.environment({}).items():
        monkeypatch.setenv(name, value if name != "PATH" else f"{value}{os.pathsep}{os.environ['PATH']}")
    yield ssh_server
    ssh_server.end_processes()
    shutil.rmtree(home / ".local", ignore_errors=True)  # not every test starts a command there
    for name in ("go", "no-tmux", "DONE", "uptime"):
        (home / name).unlink(missing_ok=True)


@pytest.fixture
def jobs(box: Box) -> Jobs:
    """The jobs on the host."""
    return Jobs(box)
