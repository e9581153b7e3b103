"""A Ray cluster that is a local server, and jobmon's view of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests  # noqa: F401 - a helper, which is a fork, then need not load it

from jobmon_core.scheduler.ray.client import RayScheduler
from tests.support.fake_ray import FakeRay, ray_resources


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_JOB_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def ray() -> Iterator[FakeRay]:
    with FakeRay() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "ray"
    path.mkdir()
    return path


@pytest.fixture
def scheduler(ray: FakeRay, folder: Path) -> RayScheduler:
    return RayScheduler(ray_resources(folder), ray.service)


@pytest.fixture
def remote(ray: FakeRay, folder: Path) -> RayScheduler:
    return RayScheduler(ray_resources(folder), ray.service)
