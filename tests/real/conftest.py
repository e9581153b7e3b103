"""The real thing: a private Slurm with accounting, and users who work on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_slurm import Cluster

from tests.support.fake_discord import FakeDiscord
from tests.support.user import User

# read at import: the isolation of every test takes it out of the environment
_RUNNING = os.environ.get("JOBMON_PRIVATE_SLURM", "")
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """The cluster of this run, or one of our own where none was started around it."""
    if _RUNNING:
        yield Cluster.attach(_RUNNING)
        return
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    """A Discord of this test's own, which must not see a single payload that breaks a rule."""
    with FakeDiscord() as server:
        yield server
        assert not server.violations


@pytest.fixture
def user(slurm: Cluster, discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user of the cluster; slurmd must be able to reach the folder."""
    folder = tmp_path / "u"
    folder.mkdir()
    somebody = User(folder, discord, {**_ENVIRONMENT, **slurm.env})
    yield somebody
    somebody.leave()
