"""Fixtures: a private Slurm with accounting, a fake Discord and a user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_slurm import Cluster

from tests.support.fake_discord import FakeDiscord
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
