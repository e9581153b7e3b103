"""An agent beside GPUs of a fake driver, built from C: what is read is proved, not how a real one answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.agent.report_files import HEADER
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu
from jobmon_core.store.telemetry import GPU_METRICS, TaskTelemetry
from tests.support.waiting import eventually

IDLE = "import time; time.sleep(600)"


@dataclass(frozen=True)
class Bench:
    """A running agent beside one process, and the file that describes the GPUs."""

    pid: int
    agent_pid: int
    control: Path
    folder: Path

    def set(self, *gpus: str) -> None:
        new = self.control.with_suffix(".new")
        new.write_text("".join(f"{gpu}\n" for gpu in gpus))
        new.replace(self.control)

    def report(self) -> AgentReport:
        return TaskTelemetry(self.folder).report("n1")

    def gpu(self, index: int = 0) -> Gpu:
        return next((gpu for gpu in self.report().latest.gpus if gpu.index == index), Gpu(index))


@contextmanager
def bench(driver: Path, folder: Path, *gpus: str, visible: str | None = None) -> Iterator[Bench]:
    """Run an agent beside an idle process; ``PID`` in a description of a GPU is that of the process."""
    control, reports = folder / "gpus.txt", folder / "job"
    reports.mkdir()
    environment = dict(os.environ)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    with ExitStack() as stack:
        task = stack.enter_context(subprocess.Popen([sys.executable, "-c", IDLE], env=environment))
        stack.callback(task.kill)
        options = AgentOptions(str(reports), pids=(task.pid,), node="n1", interval_s=0.3)
        environment |= {"LD_LIBRARY_PATH": str(driver), "FAKE_NVML": str(control)}
        control.write_text("".join(f"{gpu}\n".replace("PID", str(task.pid)) for gpu in gpus))
        agent = stack.enter_context(
            subprocess.Popen([sys.executable, *agent_command(options)], env=environment)
        )
        stack.callback(agent.kill)
        found = Bench(task.pid, agent.pid, control, reports)
        eventually(lambda: found.report().started_s > 0)
        yield found


def test_the_figures_of_a_busy_gpu_are_those_of_the_driver(driver: Path, tmp_path: Path) -> None:
    busy = (
        "util=93 power=410000 memory=7000000000 temperature=61 throttle=4 ecc=2 rows=3 nvlink=5 "
        "sm=81 tensor=34 dram=52 pids=PID"
    )
    with bench(driver, tmp_path, busy) as found:
        eventually(lambda: found.gpu().sm_percent is not None)
        gpu = found.gpu()
        assert gpu == Gpu(
            *(0, "GPU-fake-0", "Fake GPU", 93.0, 93.0, 93.0, 7_000_000_000, 80 * 2**30, 410.0, 700.0, 61),
            *((found.pid,), 0, 81.0, 34.0, 52.0, ("power cap",), 2, 3, 4 * 5),
        )
        assert found.report().latest.workers[0].gpus == (0,)


def test_utilisation_is_averaged_over_the_looks_and_follows_the_gpu(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=100 pids=PID") as found:
        eventually(lambda: found.gpu().utilization_percent == 100.0)
        found.set(f"util=0 pids={found.pid}")
        eventually(lambda: found.gpu().utilization_percent == 0.0)


def test_the_samples_of_the_driver_count_more_than_the_looks(driver: Path, tmp_path: Path) -> None:
    """A program that works every other half second may be at work, or not, at each look."""
    with bench(driver, tmp_path, "util=100 samples=0,99,51 pids=PID") as found:
        eventually(lambda: found.gpu().utilization_percent == 50.0)
        assert (found.gpu().lowest_percent, found.gpu().highest_percent) == (0.0, 99.0)


def test_an_older_driver_counts_the_memory_that_it_reserves(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=1 memory=7000000000 olddriver pids=PID") as found:
        eventually(lambda: found.gpu().memory is not None)
        assert found.gpu().memory == 7_000_000_000 + 600 * 2**20


def test_a_gpu_that_is_held_but_idle_is_shown(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=0", "util=50", visible="0") as found:
        eventually(lambda: found.gpu().utilization_percent == 0.0)
        assert [gpu.index for gpu in found.report().latest.gpus] == [0]
        assert found.gpu().own_pids == ()
        assert found.gpu().other_processes == 0


def test_the_process_of_another_user_is_counted(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, f"util=70 pids=PID,{os.getpid()}", visible="GPU-fake-0") as found:
        eventually(lambda: found.gpu().other_processes == 1)
        assert found.gpu().own_pids == (found.pid,)


def test_processes_of_another_pid_namespace_are_unavailable_not_foreign(driver: Path, tmp_path: Path) -> None:
    hidden = "util=70 pids=4194303"
    with bench(driver, tmp_path, hidden, hidden, visible="0,1") as found:
        eventually(lambda: found.gpu().utilization_percent == 70.0)
        assert found.gpu().other_processes is None
        assert sum("namespace" in line for line in found.report().unavailable) == 1


def test_what_a_partitioned_or_older_gpu_refuses_is_unavailable_never_0(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "mig nogpm noecc", visible="0") as found:
        eventually(lambda: found.gpu().power_w is not None)
        gpu = found.gpu()
        assert gpu.is_mig
        assert (gpu.utilization_percent, gpu.sm_percent, gpu.ecc_errors) == (None, None, None)
        assert "GPU utilisation: Not Supported" in found.report().unavailable
        assert "GPU SM activity: the GPU is older than Hopper" in found.report().unavailable


def test_a_gpu_without_mig_support_is_whole(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "whole util=5", visible="0") as found:
        eventually(lambda: found.gpu().utilization_percent == 5.0)
        assert not found.gpu().is_mig


def test_a_gpu_that_is_lost_while_running_is_shown_as_lost(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=90", "util=80", visible="0,1") as found:
        eventually(lambda: found.gpu(1).utilization_percent == 80.0)
        found.set("lost", "util=80")
        eventually(lambda: found.gpu(0).is_lost)
        assert found.gpu(0).utilization_percent is None
        assert found.gpu(1).utilization_percent == 80.0


def test_a_lost_gpu_is_known_by_its_processes_before(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=90 pids=PID", "util=80") as found:
        eventually(lambda: found.gpu(0).utilization_percent == 90.0)
        found.set("lost", "lost")
        eventually(lambda: found.gpu(0).is_lost)
        assert [gpu.index for gpu in found.report().latest.gpus] == [0]


def test_an_xid_is_kept_with_its_gpu(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=90", "util=80", visible="0,1") as found:
        eventually(lambda: found.gpu(1).utilization_percent == 80.0)
        found.set("util=90", "util=0 xid=79")
        eventually(lambda: found.gpu(1).xids == (79,))
        assert found.gpu(0).xids == ()


def test_the_xid_of_a_gpu_that_the_driver_no_longer_reaches_is_kept(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=90", "util=80", visible="0,1") as found:
        eventually(lambda: found.gpu(1).utilization_percent == 80.0)
        found.set("util=90", "lost xid=79")
        eventually(lambda: found.gpu(1).xids == (79,))
        assert found.gpu(1).is_lost
        assert found.gpu(0).xids == ()


def test_the_metrics_of_each_gpu_are_written_at_the_end(driver: Path, tmp_path: Path) -> None:
    with bench(driver, tmp_path, "util=42 pids=PID", "util=43 pids=PID") as found:
        eventually(lambda: found.gpu(1).utilization_percent == 43.0)
        os.kill(found.agent_pid, signal.SIGTERM)
        eventually(lambda: found.report().ended_s is not None)
        os.waitid(os.P_PID, found.agent_pid, os.WEXITED | os.WNOWAIT)
        header, *lines = (found.folder / "n1" / GPU_METRICS).read_text().splitlines()
    assert header == HEADER
    assert [line.split(",")[2:5] for line in lines] == [
        ["0", "GPU-fake-0", "42.0"],
        ["1", "GPU-fake-1", "43.0"],
    ]
