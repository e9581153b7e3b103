from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.system.runner import Runner
from tests.support.fake_discord import FakeDiscord
from tests.support.terminal import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as out_file, err.open("wb") as err_file:
        yield Terminal(out, err, Runner(stdout_fd=out_file.fileno(), stderr_fd=err_file.fileno()))


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    with FakeDiscord() as fake:
        yield fake
