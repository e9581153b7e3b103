from __future__ import annotations

from dataclasses import replace

from jobmon.views.model import end_json, end_rows, why_doubtful
from jobmon_core.domain.logs.diagnosis.model import MISSING_OUTPUTS, Diagnosis, Quote

FOUND = Diagnosis(
    None,
    "Completed",
    "",
    "",
    outputs="8 of 8 shards, 1.2 GiB, 8 valid",
    outputs_verified=True,
    results=(Quote("metrics.csv", "a  b\n1  2"),),
    bundle="/home/me/logs/12.diagnostics.txt",
)


def test_what_the_files_show_is_listed_with_the_results_as_they_stand() -> None:
    assert list(end_rows(FOUND)) == [
        ("verified", "8 of 8 shards, 1.2 GiB, 8 valid"),
        ("result", "metrics.csv:"),
        ("result", "| a  b"),
        ("result", "| 1  2"),
        ("bundle", "/home/me/logs/12.diagnostics.txt"),
    ]
    assert next(end_rows(replace(FOUND, outputs_verified=False)))[0] == "outputs"
    assert list(end_rows(Diagnosis(None, "", "", ""))) == []


def test_json_has_the_documented_keys() -> None:
    assert end_json(FOUND) == {
        "outputs": "8 of 8 shards, 1.2 GiB, 8 valid",
        "outputs_verified": True,
        "results": [{"name": "metrics.csv", "text": "a  b\n1  2"}],
        "diagnostics": "/home/me/logs/12.diagnostics.txt",
    }
    assert end_json(Diagnosis(None, "", "", "")) == {
        "outputs": None,
        "outputs_verified": False,
        "results": [],
        "diagnostics": None,
    }


def test_a_doubt_is_named_in_a_few_words() -> None:
    assert why_doubtful(replace(FOUND, cause=MISSING_OUTPUTS)) == "outputs are missing"
    assert why_doubtful(replace(FOUND, cause="cuda_oom.torch")) == "the log ends in a failure"
