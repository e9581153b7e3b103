"""`benchmarks/history.py` on a few runs and months."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import history
from benchmarks.history_parts.rules import recorded


def test_it_prints_each_figure_with_its_bound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("--runs", "200", "--months", "2", "--trials", "2000", "--ends", "1", "--json")
    monkeypatch.setattr(sys, "argv", ["history.py", *arguments])
    history.main()  # its exit status depends on the machine
    figures = json.loads(capsys.readouterr().out)
    assert figures["false_alarms_noise_15%"]["met"]
    assert figures["while_running_false_alarms_noise_15%"]["met"]
    assert figures["bad_node_named"] == {"figure": 1.0, "bound": 0.9, "met": True}
    assert figures["false_forecasts_rate_30%"]["met"]
    assert figures["failures_of_nine_of_ten_forecast"]["met"]
    assert figures["months_with_a_good_node_called_slow"]["figure"] == 0
    assert figures["last_20_ms"]["bound"] == 50


_RECORDED = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.xdist_group("timed logs")
@pytest.mark.skipif(not (_RECORDED / "eta_traces").is_dir(), reason="no recorded runs here")
def test_looks_at_recorded_runs_are_rarely_wrong() -> None:
    found = recorded(2000, _RECORDED / "eta_traces", _RECORDED / "training_logs")
    figures = {each.name: each for each in found}
    assert figures["recorded_runs"].value >= 20
    assert figures["recorded_false_alarms"].value <= 0.03
