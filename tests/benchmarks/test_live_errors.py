"""`benchmarks/live_errors.py`, and what it measures on recorded logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import live_errors

TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: x\n'
STEPS = "".join(f"step {step}/400 loss 0.5\n" for step in range(1, 201))
LOGS = Path(__file__).parents[3] / "shared" / "data" / "training_logs"
# the programs of these runs crashed, and their logs end with that
CRASHED = {"hf-chatglm-webqsp-e200", "mixed-bar-then-epoch", "tqdm-manybars-1000", "xgb-rf-tqdm"}


def test_it_counts_false_alarms_and_reported_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "healthy.log").write_text(STEPS, encoding="utf-8")
    (tmp_path / "index.jsonl").write_text('{"id": "healthy"}\n', encoding="utf-8")
    case = {"id": "a", "source": "s", "multi_rank": False}
    cases = [
        {**case, "log": STEPS + TRACEBACK, "label": "python_exception_other"},
        {**case, "log": TRACEBACK + STEPS, "label": "clean"},
    ]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(each) + "\n" for each in cases), encoding="utf-8")
    assert live_errors.main([str(tmp_path), str(corpus), "--looks", "10", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["ordinary"]["false"] == {"as written": [], "quiet": []}
    assert (found["failures"]["failures"], found["failures"]["right"]) == (1, 1)


def test_logs_that_cannot_be_read_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert live_errors.main([str(tmp_path), str(tmp_path / "none.jsonl")]) == 2
    assert "live_errors.py" in capsys.readouterr().err


@pytest.mark.skipif(not LOGS.is_dir(), reason="the recorded logs are not part of the project")
def test_ordinary_runs_raise_no_false_alarm(tmp_path: Path) -> None:
    found = live_errors.ordinary(LOGS, tmp_path, looks=10)
    for texts in found["false"].values():
        assert {text.partition(":")[0] for text in texts} <= CRASHED
