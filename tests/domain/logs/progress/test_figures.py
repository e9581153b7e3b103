from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.figures import done
from jobmon_core.domain.logs.progress.model import Progress


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(67_300, 100_000), "67.3% (67,300/100,000 steps)"),
        (Progress(42, 100, "%"), "42.0%"),
        (Progress(67_300, None, "item"), "67,300 items"),
        (Progress(100, 100), "100% (100/100 steps)"),
    ],
)
def test_what_is_done_is_a_share_with_its_counts(progress: Progress, text: str) -> None:
    assert done(progress) == text
