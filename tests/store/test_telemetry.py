"""The files that agents write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.job.tracking.agent_plan import AgentAttempts
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Sample, Worker
from jobmon_core.store.json_file import JsonFile, encoded
from jobmon_core.store.telemetry import HISTORY, LATEST, AgentRecord, TaskTelemetry
from jobmon_core.system.process import ProcessId

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


def test_the_disks_in_histories_of_earlier_versions_are_read(tmp_path: Path) -> None:
    disk = '{"path": "/d", "total": 9, "free": 4, "inodes": 7, "free_inodes": 2}'
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / HISTORY).write_text(f'{{"at_s": 1.0, "disks": [{disk}]}}\n')
    (sample,) = TaskTelemetry(tmp_path).history("n1")
    assert sample.disks == (Disk(4, 9, 2, 7, "/d"),)


def test_the_end_of_a_long_history_can_be_read_alone(tmp_path: Path) -> None:
    lines = [encoded(sample) for sample in SAMPLES]
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / HISTORY).write_bytes(b"\n".join(lines) + b"\n")
    assert TaskTelemetry(tmp_path).history("n1", len(lines[2]) + 10) == SAMPLES[2:]


def test_the_signs_of_a_report_are_those_that_the_agent_wrote_at_its_end(tmp_path: Path) -> None:
    workers = tuple(Worker(pid, "python train.py " * 5) for pid in range(100))
    file = JsonFile(tmp_path / "n1" / LATEST, AgentReport)
    file.path.parent.mkdir()
    telemetry = TaskTelemetry(tmp_path)
    assert telemetry.signs("n1") is None
    file.write(AgentReport(Sample(workers=workers), 50.0, 5.0, unavailable=("GPUs: no NVIDIA driver",)))
    before = telemetry.signs("n1")
    file.write(AgentReport(Sample(workers=workers), 50.0, 5.0, 70.5, 60.25, ("GPUs: no NVIDIA driver",)))
    after = telemetry.signs("n1")
    assert before is not None
    assert after is not None
    assert (before.has_ended, before.suspicious_log_s) == (False, 0.0)
    assert (after.has_ended, after.suspicious_log_s) == (True, 60.25)
    assert before.stamp != after.stamp


def test_a_damaged_report_has_no_signs(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    (tmp_path / "n1" / LATEST).write_bytes(b'"suspicious_log_s": 1.2.3ee')
    signs = TaskTelemetry(tmp_path).signs("n1")
    assert signs is not None
    assert (signs.has_ended, signs.suspicious_log_s) == (False, 0.0)


def test_the_record_of_the_agents_is_read_as_it_was_written(tmp_path: Path) -> None:
    telemetry = TaskTelemetry(tmp_path)
    assert telemetry.record.read() == AgentRecord()
    record = AgentRecord((ProcessId("h", "b", 7, 9, "ns"),), 10, AgentAttempts(5.0, 2, 6.0, None, "refused"))
    telemetry.record.write(record)
    assert telemetry.record.read() == record
    assert telemetry.error_text() == ""
