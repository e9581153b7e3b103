"""`benchmarks/eta.py` on two traces."""

import json
from pathlib import Path

import pytest

from benchmarks import eta
from jobmon_core.domain.logs.progress.model import Estimate


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    def write(name: str, times_s: list[float]) -> None:
        rows = "".join(f"{at_s},{step / (len(times_s) - 1)}\n" for step, at_s in enumerate(times_s))
        (tmp_path / f"{name}.csv").write_text("t,progress\n" + rows, encoding="utf-8")

    write("steady", [2.0 * step for step in range(101)])
    write("warm-up", [0.0, *(50.0 + step for step in range(200))])
    return tmp_path


def test_with_json_the_last_line_is_one_object(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta.main([str(traces), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["traces"] == 2
    assert figures["within_10"] > figures["rivals"]["linear"]["within_10"]
    assert figures["in_range"] >= 0.9
    assert figures["mape_50"] < figures["rivals"]["linear"]["mape_50"]
    assert {"mape_25", "mape_50", "mape_75"} <= figures.keys()
    assert set(figures["rivals"]) == {"linear", "tqdm", "last_half"}
    assert figures["rivals"]["linear"]["in_range"] is None


def test_the_table_names_the_traces_with_errors(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta.main([str(traces)]) == 0
    assert "2 traces" in capsys.readouterr().out


def test_a_trace_whose_first_sample_is_late_has_no_answers_before_it(tmp_path: Path) -> None:
    (tmp_path / "late.csv").write_text("t,progress\n50,0.5\n100,1\n", encoding="utf-8")
    (trace,) = eta.read_traces(tmp_path)
    for estimator in eta.ESTIMATORS.values():
        assert next(eta.ask(trace, estimator)).error is None
    assert eta.main([str(tmp_path)]) == 0


def test_the_finish_error_is_relative_to_the_duration() -> None:
    answer = eta.Answer(
        "run", 50, 200.0, 100.0, Estimate(remaining_s=110.0, shortest_s=90.0, longest_s=120.0)
    )
    assert answer.error == pytest.approx(0.1)
    assert answer.finish_error == pytest.approx(0.05)
    assert answer.in_range


@pytest.mark.parametrize("text", ["", "t,progress\n", "t,progress\n1,x\n", "a,b\n1,2\n"])
def test_malformed_traces_are_an_error(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.csv").write_text(text, encoding="utf-8")
    assert eta.main([str(tmp_path)]) == 2
    assert "bad.csv" in capsys.readouterr().err


def test_a_folder_without_traces_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert eta.main([str(tmp_path)]) == 2
    assert "holds no *.csv" in capsys.readouterr().err
