from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.telling_lines import result_line

_BAR = "100%|██████████| 313/313 [00:12<00:00, 25.1it/s]"


def found(*logs: str) -> str:
    excerpts = [LogExcerpt(f"log{number}", tuple(log.split("\n"))) for number, log in enumerate(logs)]
    line = result_line(LogLines(excerpts))
    return line.text if line else ""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("a start\nall 12 files converted", "all 12 files converted"),
        (f"all done\n\n   \n{_BAR}\n=====\n----", "all done"),
        ("epoch 30 loss 0.02\nsaved model.pt\ndone", "epoch 30 loss 0.02"),
        ("val_accuracy: 0.97\nUserWarning: deprecated\nwandb: Synced 5 files", "val_accuracy: 0.97"),
        (f"{_BAR[:-1]}, loss=0.12]\ndone", f"{_BAR[:-1]}, loss=0.12]"),
        ("done\nwandb: Synced 5 files", "done"),
        ("done\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ", "done"),
        ("====\n\n", ""),
        ("", ""),
    ],
)
def test_the_last_line_that_says_something_is_found(log: str, line: str) -> None:
    assert found(log) == line


def test_a_metric_in_the_second_log_beats_any_line_of_the_first() -> None:
    assert found("finished", "INFO loss: 0.3\nINFO bye") == "INFO loss: 0.3"


def test_without_a_metric_the_first_log_wins() -> None:
    assert found("finished", "INFO bye") == "finished"


def test_the_line_has_its_file_and_number() -> None:
    line = result_line(LogLines([LogExcerpt("a", ("x",)), LogExcerpt("b", ("accuracy 0.9", "bye"), 7)]))
    assert line
    assert (line.file, line.number) == ("b", 7)


@given(st.lists(st.text(max_size=200), max_size=3))
def test_no_log_makes_it_fail(logs: list[str]) -> None:
    found(*logs)
