"""`benchmarks/restart_rules.py` on a corpus of four logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import restart_rules

LOGS = {
    "import_error": "Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'x'\n",
    "clean": "epoch 1: loss 0.5\nepoch 2: loss 0.4\ndone\n",
    "slurm_preempted": "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-01T10:00:00 DUE TO "
    "PREEMPTION ***\n",
    "segfault": "t.sh: line 3: 12 Segmentation fault      (core dumped) ./train\n",
}


def corpus(tmp_path: Path, logs: dict[str, str]) -> str:
    cases = (
        {"id": label, "source": label, "log": log, "label": label, "multi_rank": False}
        for label, log in logs.items()
    )
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return str(path)


def test_it_prints_the_share_of_each_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert restart_rules.main([corpus(tmp_path, LOGS), "--json"]) == 0

    figures = {name: each["figure"] for name, each in json.loads(capsys.readouterr().out).items()}
    assert figures["restarts of causes that are the user's"] == 0
    assert (figures["share restart"], figures["share stop"], figures["share finished"]) == (0.5, 0.25, 0.25)


def test_a_restart_of_a_users_error_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mislabelled = {"import_error": LOGS["segfault"]}

    assert restart_rules.main([corpus(tmp_path, mislabelled)]) == 1
    assert "RESTARTED: import_error" in capsys.readouterr().out


def test_a_corpus_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert restart_rules.main([str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err
