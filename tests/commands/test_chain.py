"""``jobmon chain`` at a shell without Slurm, by the local backend; `tests/real` has chains of Slurm jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_discord import FakeDiscord
from tests.support.user import User


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """A user whose jobs run on this machine by default."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
    }
    with FakeDiscord() as discord:
        somebody = User(tmp_path, discord, {**environment, "HOME": str(tmp_path)})
        somebody.configure(backend="local")
        yield somebody
        somebody.leave()


def test_no_scancel_is_offered_for_jobs_that_are_local_by_the_configuration(user: User) -> None:
    script = user.script("true")
    done = user.jobmon("chain", script, f"--array=x {script}")
    assert done.returncode == 1, done
    assert f"continue with: jobmon chain --after 1 '--array=x {script}'" in done.stderr
    assert "scancel" not in done.stderr
