"""What an agent shows of a launch: GPUs of a fake driver, the ranks of a launcher, folders of the node."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from jobmon_core.analysis.followed_task import ReadTask, TaskLook
from jobmon_core.analysis.launch_facts import launch_facts
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.node.launch.model import GPU_LOAD, GPU_SHARING, GPUS, LaunchFacts
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.telemetry.model import RankGroup
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.launches import follow
from tests.support.waiting import eventually

_LAUNCHER = """
import os, subprocess, sys, time
for rank in sys.argv[1].split(","):
    own = {"RANK": rank, "WORLD_SIZE": "4", "MASTER_ADDR": "n1", "TORCHELASTIC_RUN_ID": "none"}
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=os.environ | own)
time.sleep(600)
"""


class Bench:
    """A running agent beside a launcher with some ranks."""

    def __init__(self, pid: int, control: Path, folder: Path, settings: JobSettings) -> None:
        self.control, self.telemetry = control, TaskTelemetry(folder)
        task = Task("", JobState.RUNNING, "RUNNING", start_s=1, nodes="n1")
        self.job = WatchedJob("slurm-1-x", 1, 1.0, settings=settings, tasks={"": task})
        self.ranks = sorted(child.pid for child in psutil.Process(pid).children())

    def set(self, *gpus: str) -> None:
        new = self.control.with_suffix(".new")
        new.write_text("".join(f"{gpu}\n" for gpu in gpus))
        new.replace(self.control)

    def facts(self) -> LaunchFacts:
        """Return the facts of a look at the time of the latest report."""
        now_s = self.telemetry.report("n1").latest.at_s
        look = TaskLook(now_s, self.job, self.job.tasks[""], telemetry=self.telemetry)
        return launch_facts(ReadTask(), look)

    def items(self) -> dict[str, Finding]:
        return {item.id: item for item in follow(self.facts())[0].items}

    def has_busy_gpus(self) -> bool:
        load = self.items().get(GPU_LOAD)
        return load is not None and load.severity is Severity.INFO


def _kill_all(process: psutil.Process) -> None:
    for each in (*process.children(), process):
        each.kill()


@contextmanager
def bench(
    folder: Path, ranks: str, driver: Path | None = None, settings: JobSettings | None = None
) -> Iterator[Bench]:
    settings = settings or JobSettings()
    control, reports = folder / "gpus.txt", folder / "job"
    control.touch()
    reports.mkdir()
    environment = dict(os.environ) | {"CUDA_VISIBLE_DEVICES": "0,1"}
    with ExitStack() as stack:
        command = [sys.executable, "-c", _LAUNCHER, ranks]
        task = stack.enter_context(subprocess.Popen(command, env=environment))
        stack.callback(_kill_all, psutil.Process(task.pid))
        number = len(ranks.split(","))
        eventually(lambda: len(psutil.Process(task.pid).children()) == number)
        found = Bench(task.pid, control, reports, settings)
        if driver:
            environment |= {"LD_LIBRARY_PATH": str(driver), "FAKE_NVML": str(control)}
            found.set(f"util=90 pids={found.ranks[0]}", "util=0")
        disks = tuple(filter(None, (settings.output_dir,)))
        options = AgentOptions(str(reports), pids=(task.pid,), node="n1", interval_s=0.3, disks=disks)
        agent = stack.enter_context(
            subprocess.Popen([sys.executable, *agent_command(options)], env=environment)
        )
        stack.callback(agent.kill)
        eventually(lambda: len(found.facts().workers) == number)
        yield found


def test_an_unused_gpu_and_two_processes_on_one_are_named(driver: Path, tmp_path: Path) -> None:
    with bench(tmp_path, "0,1,2,3", driver) as found:
        eventually(lambda: GPUS in found.items())
        assert found.items()[GPUS].text == "no process on GPU 1 (of 2 GPUs)"
        _, (event,) = follow(found.facts())
        assert event.text == "launch failed, 1m after its start: no process on GPU 1 (of 2 GPUs)"
        first, second, third, *_ = found.ranks
        found.set(f"util=90 pids={first},{second}", f"util=90 pids={third}")
        eventually(lambda: GPU_SHARING in found.items())
        shared = found.items()[GPU_SHARING]
        assert (shared.severity, shared.text) == (Severity.WARNING, "several processes on GPU 0")
        assert set(shared.evidence[0].removeprefix("GPU 0: processes ").split(", ")) == {
            str(first),
            str(second),
        }
        eventually(lambda: len(found.telemetry.report("n1").latest.gpus[1].own_pids) == 1)
        eventually(found.has_busy_gpus)  # the first report may hold an average with the time before
        _, (event,) = follow(found.facts())
        assert event.text == "launched: 4/4 workers, 2/2 GPUs in use, 1 warning"


def test_a_rank_that_did_not_start_is_named_and_so_is_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = JobSettings(output_dir=str(tmp_path / "file" / "results"))
    with bench(tmp_path, "0,1,3", settings=settings) as found:
        (group,) = found.telemetry.report("n1").ranks
        assert group == RankGroup("torch", "none:n1:", 4, (0, 1, 3), needs_all=True)
        _, (event,) = follow(found.facts())
        assert event.text == (
            "launch failed, 1m after its start: only 3 of 4 workers are running; "
            "the output folder does not exist, and the job cannot create it"
        )
        assert event.evidence == ("rank 2 of 4 (torch): not seen", settings.output_dir)
