"""`benchmarks/diagnosis.py` on a corpus of three logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import diagnosis

SCRIPT = Path(diagnosis.__file__)
LOGS = {
    "cuda_oom": (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 7, in <module>\n'
        "    loss.backward()\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    ),
    "clean": "epoch 1: loss 0.5\nepoch 2: loss 0.4\ndone\n",
    # its text is as healthy as that of the clean log
    "segfault": "epoch 1: loss 0.5\n",
}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    cases = (
        {"id": f"the {label}", "source": label, "log": log, "label": label, "multi_rank": label == "cuda_oom"}
        for label, log in LOGS.items()
    )
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    return path


def run(corpus: Path, *options: str) -> int:
    return diagnosis.main([str(corpus), "--passes", "1", *options])


def test_as_a_script_it_prints_the_tables(corpus: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(corpus), "--passes", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "3 logs of 3 sources" in done.stdout
    assert "66.7%  2 of 3" in done.stdout
    assert "the segfault" in done.stdout


def test_with_json_it_prints_one_object(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(corpus, "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["corpus"]["cases"] == 3
    jobmon = figures["jobmon"]
    assert jobmon["all"]["accuracy"] == {"count": 2, "of": 3, "share": 2 / 3}
    assert jobmon["all"]["cascades_right"]["share"] == 1
    assert jobmon["labels"]["clean"]["f1"] == pytest.approx(2 / 3)
    assert jobmon["sources"]["by_source"]["segfault"]["share"] == 0
    assert [(wrong["id"], wrong["got"]) for wrong in jobmon["confusions"]] == [("the segfault", "clean")]
    assert jobmon["calibration"]
    assert figures["baseline"]["all"]["accuracy"]["count"] == 2
    assert figures["speed"]["each_log_mb_s"] > 0


def test_the_failures_found_in_ordinary_logs_are_listed(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for label, text in LOGS.items():
        (tmp_path / f"{label}.log").write_text(text, encoding="utf-8")
    assert run(corpus, "--logs", str(tmp_path), "--json") == 0
    plain = json.loads(capsys.readouterr().out)["plain_logs"]
    assert (plain["logs"], list(plain["failures"])) == (3, ["cuda_oom.log"])
    assert plain["mb_s"] > 0
    assert run(corpus, "--logs", str(tmp_path)) == 0
    assert "3 ordinary logs" in capsys.readouterr().out


def test_an_accuracy_below_its_bound_fails_it(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(corpus, "--min-accuracy", "0.6", "--max-false-alarms", "0") == 0
    assert run(corpus, "--min-accuracy", "0.7") == 1
    assert capsys.readouterr().err == "NOT HELD: the accuracy is 0.6667, below 0.7\n"


def test_more_false_alarms_than_allowed_fail_it(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mislabelled = corpus.read_text(encoding="utf-8").replace('"cuda_oom"', '"clean"')
    corpus.write_text(mislabelled, encoding="utf-8")
    assert run(corpus, "--max-false-alarms", "1") == 0
    assert run(corpus, "--max-false-alarms", "0") == 1
    assert capsys.readouterr().err == "NOT HELD: failures were found in 1 clean logs, more than 0\n"


def test_an_unusable_corpus_is_reported_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "missing.jsonl") == 2
    error = capsys.readouterr().err
    assert error.startswith("diagnosis.py: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "options", [("--min-accuracy", "92"), ("--max-false-alarms", "-1"), ("--passes", "0")]
)
def test_a_value_out_of_range_is_refused(corpus: Path, options: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(corpus, *options)
    assert stopped.value.code == 2
