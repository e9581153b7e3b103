"""A scheduler, a clock and the file through which monitors share an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.store.shared_answers import SharedAnswer
from tests.support.clock import FakeClock
from tests.support.scheduler import FakeScheduler


@pytest.fixture
def slurm() -> FakeScheduler:
    return FakeScheduler()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def file(tmp_path: Path) -> SharedAnswer:
    return SharedAnswer.named(tmp_path, "answers")
