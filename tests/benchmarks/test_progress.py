"""`benchmarks/progress.py` on a folder of three logs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import progress
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.match import FormatMatcher
from tests.support.training_logs import bars

RECORDED = Path(__file__).parents[3] / "shared" / "data" / "training_logs"
LOGS: dict[str, tuple[str, dict[str, Any]]] = {
    "bar": (bars(0, 40, 10, 90), {"truth": {"unit": "step", "points": [[2, 0, 90], [6, 40, 90]]}}),
    "epochs": (
        "".join(f"Epoch {n}/9 loss: 0.5\n" for n in range(1, 4)),
        {"truth": {"unit": "epoch", "points": [[1, 1, 9], [3, 3, 9]], "final_loss": 0.5}},
    ),
    "wrong": ("step 3/9\nstep 4/9\n", {"truth": {"unit": "step", "points": [[1, 3, 9], [2, 5, 9]]}}),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    entries = []
    for name, (log, entry) in LOGS.items():
        (tmp_path / f"{name}.log").write_bytes(log.encode())
        common = {
            "id": name,
            "scope": "job",
            "tolerance": 0,
            "interleaved": False,
            "total_source": "same-line",
        }
        entries.append(json.dumps({**common, **entry}))
    (tmp_path / progress.INDEX).write_text("\n".join(entries), encoding="utf-8")
    return tmp_path


def test_the_last_line_is_one_object(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.main([str(folder), "--json", "--passes", "1"]) == 0
    shown = capsys.readouterr().out
    figures = json.loads(shown.splitlines()[-1])
    assert figures.pop("mb_per_s") > 0
    assert figures == {
        "points": 5 / 6, "points_strict": 5 / 6,
        "logs": 2 / 3, "final_loss": 1.0, "points_counted": 6, "logs_counted": 3,
    }  # fmt: skip
    assert "wrong, line 2: 5 of 9, got 4 of 9.0" in shown


def test_a_folder_without_an_index_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.main([str(tmp_path)]) == 2
    assert "index.jsonl" in capsys.readouterr().err


def test_a_total_counts_only_where_it_can_be_known(folder: Path) -> None:
    log = next(progress.read_index(folder))
    without_total = Progress(current=40)
    assert not progress.is_met(log, 40, 90, without_total)
    assert progress.is_met(replace(log, total_source="end-of-run-only"), 40, 90, without_total)
    assert progress.is_met(replace(log, total_source="derived-from-eta"), 40, 90, Progress(40, 92))
    assert not progress.is_met(log, 40, 90, Progress(40, 92))


def test_the_innermost_counter_counts_for_a_part_of_the_job_only(folder: Path) -> None:
    log = next(progress.read_index(folder))
    nested = Progress(current=140, total=900, batch=40, batches=90)
    assert not progress.is_met(log, 40, 90, nested)
    assert progress.is_met(replace(log, scope="inner-bar"), 40, 90, nested)


@pytest.mark.skipif(not RECORDED.is_dir(), reason=f"no labelled training logs at {RECORDED}")
def test_recorded_logs_are_read() -> None:
    logs = list(progress.read_index(RECORDED))
    matcher = FormatMatcher.with_patterns({})
    figures = progress.summary([progress.check(log, matcher) for log in logs], 0.0)
    assert figures["points"] >= 0.95
    assert figures["logs"] >= 0.85
