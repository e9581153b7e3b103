"""The files that agents write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.model import AgentReport, Gpu, Sample, Worker
from jobmon_core.store.json_file import JsonFile, encoded
from jobmon_core.store.telemetry import HISTORY, LATEST, TaskTelemetry

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = tuple(Sample(at_s=at_s, span_s=5.0, gpus=(Gpu(0, memory=7),)) for at_s in (100.0, 160.0, 220.0))


def test_a_task_without_agents_has_reported_nothing(tmp_path: Path) -> None:
    telemetry = TaskTelemetry(tmp_path / "missing")
    assert telemetry.nodes() == ()
    assert telemetry.report("n1") == AgentReport()
    assert telemetry.history("n1") == ()


def test_the_latest_report_of_each_node_is_read(tmp_path: Path) -> None:
    report = AgentReport(Sample(at_s=100.0, workers=(Worker(7, "python train.py", rank=3),)), 50.0)
    for node in ("n2", "n1"):
        (tmp_path / node).mkdir()
        JsonFile(tmp_path / node / LATEST, AgentReport).write(report)
    assert TaskTelemetry(tmp_path).nodes() == ("n1", "n2")
    assert TaskTelemetry(tmp_path).report("n2") == report


def test_damaged_lines_cost_only_themselves(tmp_path: Path) -> None:
    lines = [encoded(sample) for sample in SAMPLES]
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / HISTORY).write_bytes(b"\n".join([lines[0], b"\xff{", b"[1]", lines[1], lines[2][:20]]))
    assert TaskTelemetry(tmp_path).history("n1") == SAMPLES[:2]


def test_the_end_of_a_long_history_can_be_read_alone(tmp_path: Path) -> None:
    lines = [encoded(sample) for sample in SAMPLES]
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / HISTORY).write_bytes(b"\n".join(lines) + b"\n")
    assert TaskTelemetry(tmp_path).history("n1", len(lines[2]) + 10) == SAMPLES[2:]
