"""`benchmarks/alarms.py` on a trace and two logs."""

import json
from pathlib import Path

import pytest

from benchmarks import alarms
from benchmarks.timed_logs import written_at


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    traces, logs = tmp_path / "traces", tmp_path / "logs"
    traces.mkdir()
    logs.mkdir()
    rows = "".join(f"{10 * step},{step / 400}\n" for step in range(401))
    (traces / "steady.csv").write_text("t,progress\n" + rows, encoding="utf-8")
    bars = "".join(f"{step}/400 [{step // 60:02}:{step % 60:02}<00:01]\r" for step in range(401))
    for name in ("bar", "several"):
        (logs / f"{name}.log").write_text(f"  1%|  | {bars}".replace("\r", "\r  1%|  | "), encoding="utf-8")
    index = ({"id": "bar", "interleaved": False}, {"id": "several", "interleaved": True})
    (logs / "index.jsonl").write_text("\n".join(map(json.dumps, index)), encoding="utf-8")
    return str(traces), str(logs)


def test_with_json_the_last_line_is_one_object(
    folders: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert alarms.main([*folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["logs"]["30 s"]["runs"] == 1
    steady = found["traces"]["1/200"]
    assert (steady["false"], steady["hangs_found"], steady["slowdowns_found"]) == ([], 2, 3)


def test_folders_without_recordings_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert alarms.main([str(tmp_path), str(tmp_path)]) == 2
    assert "alarms.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        "2024-02-29 23:{:02}:59,123 step",
        "[2024/02/29 23:{:02}:59] step",
        "\x1b[37m29/02/24 23:{:02}:59\x1b[0m step",
        "[HCTR][23:{:02}:59.123] step",
        "7/9 [23:{:02}:59<00:01, 1.0it/s]",
    ],
)
def test_lines_with_times_are_a_clock(line: str) -> None:
    times = written_at("".join(f"{line.format(minute)}\n" for minute in range(60)).encode())
    assert [at_s - times[0][0] for at_s, _ in times] == [60 * minute for minute in range(60)]


def test_lines_without_times_are_none() -> None:
    assert written_at(b"step 3\n" * 100) == []
