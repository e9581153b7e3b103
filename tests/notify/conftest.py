from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_discord import FakeDiscord


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    with FakeDiscord() as fake:
        yield fake
