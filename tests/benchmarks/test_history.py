"""`benchmarks/history.py` on a few runs and months."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import history


def test_it_prints_each_figure_with_its_bound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["history.py", "--runs", "200", "--months", "2", "--json"])
    history.main()  # its exit status depends on the machine
    figures = json.loads(capsys.readouterr().out)
    assert figures["false_alarms_noise_15%"]["met"]
    assert figures["bad_node_named"] == {"figure": 1.0, "bound": 0.9, "met": True}
    assert figures["false_forecasts_rate_30%"]["met"]
    assert figures["failures_of_nine_of_ten_forecast"]["met"]
    assert figures["months_with_a_good_node_called_slow"]["figure"] == 0
    assert figures["last_20_ms"]["bound"] == 50
