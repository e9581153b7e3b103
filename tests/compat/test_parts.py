"""Workers, logs and estimates for a monitor of one's own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon.parts import (
    CheckpointStatus,
    FileMonitor,
    FileVerdict,
    LogParser,
    ProcessMonitor,
    ProgressEstimator,
    WorkerStatus,
)
from jobmon_core.app.processes.workers import Workers
from jobmon_core.domain.errors import Invalid, JobmonError
from jobmon_core.system.runner import Ran, Result, Runner
from tests.support.waiting import eventually

WORKER = "import sys, time\nx = 0\nwhile True: x += 1\n"
LAUNCHER = "import subprocess, sys\nsubprocess.run([sys.executable, 'worker.py', 'x'])\n"
GPUS = "0, GPU-a, H100, 95, 15234, 81920\n1, GPU-b, H100, [N/A], 0, 81920\nno line\n"


class SmiRunner(Runner):
    """A host whose nvidia-smi shows a process on GPU 1."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid

    def capture(self, argv: object, timeout_s: float) -> Result:
        del timeout_s
        is_gpus = "query-gpu" in str(argv)
        return Ran(("nvidia-smi",), 0, GPUS if is_gpus else f"GPU-b, {self._pid}, python, a, 15000\n", "")


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[list[int]]:
    """Two workers of a program."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER, encoding="utf-8")
    started = [subprocess.Popen([sys.executable, str(script), tmp_path.name, str(n)]) for n in range(2)]
    yield [process.pid for process in started]
    for process in started:
        process.kill()
        process.wait()


def test_a_launch_is_verified_and_the_worker_that_dies_is_named(pids: list[int], tmp_path: Path) -> None:
    monitor = ProcessMonitor("worker.py", 2, pids=pids)
    assert monitor.verify_launch(timeout=30) == (True, (), "")
    first = monitor.check_workers()
    assert [each.pid for each in first.values()] == pids
    eventually(lambda: all((each.cpu_percent or 0) > 5 for each in monitor.check_workers().values()))
    os.kill(pids[1], signal.SIGKILL)
    eventually(lambda: monitor.check_workers()["worker_1"].status is WorkerStatus.ZOMBIE)
    os.waitpid(pids[1], 0)
    success, missing, error = monitor.verify_launch(timeout=0)
    assert (success, missing) == (False, ("worker_1",))
    assert error == "only 1 of 2 workers run after 0 s (worker_1: dead)"
    assert monitor.check_workers()["worker_0"].status is WorkerStatus.RUNNING
    del tmp_path


def test_a_worker_has_the_gpu_on_which_nvidia_smi_shows_it(pids: list[int]) -> None:
    first, second = Workers("", 2, tuple(pids), SmiRunner(pids[1])).look()
    assert first[1] is None
    _, gpu, memory = second
    assert gpu is not None
    assert (gpu.index, gpu.utilization_percent, gpu.memory) == (1, None, 0)
    assert memory == 15000 * 2**20


def test_the_workers_that_a_launcher_started_count(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(WORKER, encoding="utf-8")
    (tmp_path / "launch.py").write_text(LAUNCHER, encoding="utf-8")
    name = f"{tmp_path}/worker.py"
    launcher = (
        "import subprocess, sys; [subprocess.Popen([sys.executable, *sys.argv[1:]]) for _ in '12']; input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", launcher, name], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        assert ProcessMonitor(name, 2).verify_launch(timeout=30).success
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_only_what_was_appended_to_logs_is_read_again(tmp_path: Path) -> None:
    log = tmp_path / "worker_0.log"
    log.write_text("Batch 1/9 shape 7\nWARNING: connection refused by n17\n", encoding="utf-8")
    patterns = {"connection": r"connection refused|timeout"}
    parser = LogParser(str(tmp_path / "*.log"), {"batch_number": r"Batch (\d+)/(\d+)"}, patterns)
    (found,) = parser.parse_errors()
    assert (found.worker, found.level, found.pattern) == ("worker_0", "WARNING", "connection")
    assert found.full_context.startswith("Batch 1/9")
    with log.open("a", encoding="utf-8") as file:
        file.write("2026-01-15 10:23:45 ERROR timeout\nBatch 2/9\n")
    (found,) = parser.parse_errors()
    assert (found.timestamp, found.message) == ("2026-01-15 10:23:45", "2026-01-15 10:23:45 ERROR timeout")
    assert parser.parse_errors() == ()
    progress = parser.parse_progress()["worker_0"]
    assert (progress.current, progress.total, progress.unit) == (2, 9, "batch")
    assert parser.tail_logs(1) == {"worker_0": ("Batch 2/9",)}


def test_items_batch_and_epoch_of_one_line_are_all_read(tmp_path: Path) -> None:
    lines = (f"Epoch 2 Batch {n}/5000 Processed {50 * n}/100000 items (250.0 items/s)\n" for n in (65, 66))
    (tmp_path / "worker_0.log").write_text("".join(lines), encoding="utf-8")
    progress = LogParser(str(tmp_path / "*.log")).parse_progress()["worker_0"]
    assert (progress.current, progress.total, progress.unit) == (3300, 100_000, "item")
    assert (progress.batch, progress.batches, progress.epoch, progress.rate_per_s) == (66, 5000, 2, 250)
    assert progress.remaining_s == pytest.approx(386.8)
    assert (progress.shortest_s, progress.longest_s) == pytest.approx((193.4, 773.6))


def test_invalid_arguments_are_named() -> None:
    with pytest.raises(Invalid, match="oom"):
        LogParser("*.log", error_patterns={"oom": "("})
    with pytest.raises(JobmonError, match="at least 1"):
        ProcessMonitor("x", 0)


def _estimator(seconds_per_unit: list[float]) -> ProgressEstimator:
    estimator, now_s = ProgressEstimator(), 1_000_000.0
    for number, duration_s in enumerate(seconds_per_unit):
        estimator.update(number, 2_000, now_s)
        now_s += duration_s
    return estimator


@pytest.mark.parametrize(
    ("seconds", "percent"),
    [
        ([1.0] * 1_000, None),
        ([1.0] * 5, None),  # too early
        (([1.0] * 99 + [60.0]) * 10, None),  # pauses at checkpoints
        ([1.0] * 800 + [2.0] * 400, 50),
        ([1.0] * 800 + [1.1] * 400, None),  # within 20 %
        ([1.0] * 800 + [2.0] * 400 + [1.0] * 300, None),  # it is over
    ],
)
def test_a_slowdown_is_no_pause(seconds: list[float], percent: float | None) -> None:
    estimator, now_s, found = ProgressEstimator(), 1_000_000.0, None
    for number, duration_s in enumerate(seconds):
        estimator.update(number, 2_000, now_s)
        now_s += duration_s
        if number % 20 == 0:
            found = estimator.detect_slowdown()
    assert (found and round(found.percent)) == percent


def test_the_end_is_estimated_once_there_are_enough_data() -> None:
    assert _estimator([1.0] * 3).estimate_eta().remaining_s is None
    found = _estimator([1.0] * 1_001).estimate_eta()
    assert found.remaining_s == pytest.approx(1_000, rel=0.01)
    assert found.fraction == 0.5
    assert found.ends_s == pytest.approx(1_002_000, rel=0.01)
    done = _estimator([1.0] * 2_001).estimate_eta()
    assert (done.fraction, done.remaining_s) == (1.0, 0.0)


def test_outputs_grow_stall_and_are_whole(tmp_path: Path) -> None:
    done, growing, none = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    done.write_text('[{"x": 1}, {"x": 2}]', encoding="utf-8")
    growing.write_text('[{"x": 1}, ', encoding="utf-8")
    monitor = FileMonitor([tmp_path / "[ab].json", none], min_growth_rate=100)
    first = monitor.check_outputs(validate=True, now_s=1000.0)
    assert [(each.exists, each.is_stalled, each.growth_bytes_per_s) for each in first.values()] == [
        (True, False, None), (True, False, None), (False, False, None),
    ]  # fmt: skip
    assert [each.check and each.check.verdict for each in first.values()] == [
        FileVerdict.VALID, FileVerdict.TRUNCATED, None,
    ]  # fmt: skip
    growing.write_text('[{"x": 1}, ' * 50, encoding="utf-8")
    whole, partial, missing = monitor.check_outputs(validate=True, now_s=1010.0).values()
    assert (whole.is_stalled, whole.growth_bytes_per_s, whole.check and whole.check.records) == (True, 0.0, 2)
    assert (partial.is_stalled, partial.growth_bytes_per_s) == (False, 49 * 11 / 10)
    assert partial.check is not None
    assert partial.check.verdict is FileVerdict.UNKNOWN  # it is still written
    assert not missing.exists
    growing.write_text("[]", encoding="utf-8")  # written anew
    assert not monitor.check_outputs(now_s=1020.0)[str(growing)].is_stalled
    growing.unlink()
    monitor.check_outputs(now_s=1030.0)
    growing.write_text("[]", encoding="utf-8")
    again = monitor.check_outputs(now_s=1040.0)[str(growing)]
    assert (again.is_stalled, again.growth_bytes_per_s) == (False, None)


def test_names_with_brackets_are_found(tmp_path: Path) -> None:
    work = tmp_path / "run[1]"
    work.mkdir()
    (work / "out[2].json").write_text("[1]", encoding="utf-8")
    monitor = FileMonitor(work / "out[2].json")
    assert [each.size_bytes for each in monitor.check_outputs().values()] == [3]


def test_the_next_checkpoint_is_expected_after_the_usual_interval(tmp_path: Path) -> None:
    monitor = FileMonitor((), tmp_path / "step_*")
    assert monitor.check_checkpoints(now_s=1000.0) == CheckpointStatus()
    for number in range(1, 5):
        (tmp_path / f"step_{number}").mkdir()
        os.utime(tmp_path / f"step_{number}", (1000 + 600 * number,) * 2)
    found = monitor.check_checkpoints(now_s=3500.0)
    assert found == CheckpointStatus(
        last_checkpoint=str(tmp_path / "step_4"), count=4, interval_s=600.0, age_s=100.0, next_in_s=500.0
    )


def test_the_room_is_that_of_the_folder_of_the_files(tmp_path: Path) -> None:
    (space,) = FileMonitor(tmp_path / "not" / "yet" / "*.json").verify_disk_space().items()
    folder, room = space
    assert folder == str(tmp_path)
    usage = shutil.disk_usage(tmp_path)
    assert room.total_bytes == pytest.approx(usage.used + usage.free, rel=0.01)
    assert room.is_low == (room.free_bytes < max(10 * 2**30, room.total_bytes / 10))


def test_a_damaged_file_is_named_without_a_look_at_its_growth(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text('a,b\n1,2\n"3', encoding="utf-8")
    assert FileMonitor(()).validate_file_integrity(file).is_bad
