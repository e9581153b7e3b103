"""`benchmarks/history_campaign.py` with a few kills."""

from __future__ import annotations

import json

import pytest

from benchmarks import history_campaign
from benchmarks.history_parts.writers import STEPS


def test_no_run_is_lost_or_doubled_while_writers_are_killed(capsys: pytest.CaptureFixture[str]) -> None:
    kills = 2 * len(STEPS)
    code = history_campaign.main([f"--kills={kills}", "--runs=60", "--limit=300", "--json"])
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert code == 0, printed
    assert figures["writers killed"]["figure"] >= kills
    assert figures["  within write"]["figure"] >= 2
    assert figures["lines"]["figure"] >= 240
