"""An agent that watches many workers and GPUs for hours, by a clock that does not wait."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load_parts.processes import memory
from jobmon_core.agent.loop import Agent, AgentClock
from jobmon_core.domain.telemetry.agent_command import AgentOptions
from jobmon_core.system.clock import Wake

WORKERS, GPUS = 32, 8
_DRIVER = Path(__file__).parents[2] / "tests" / "support" / "fake_nvml.c"
_WORKER = "import signal; signal.pause()"


@dataclass(frozen=True, slots=True)
class LongRun:
    """What an agent took."""

    rounds_s: list[float]  # of a look, or of a look and a report
    pss_kb: int  # at the end
    half_private_kb: int  # after half of the time, without the pages that other processes share
    private_kb: int  # at the end
    files_kb: int  # what it wrote


def watch_many(hours: float, folder: Path) -> LongRun:
    """Have an agent watch workers that hold the GPUs of a fake driver."""
    driver, reports = folder / "driver", folder / "reports"
    driver.mkdir(parents=True)
    reports.mkdir()
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        raise SystemExit("the fake driver of the GPUs needs a C compiler; install gcc")
    library = driver / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, _DRIVER], check=True)
    with ExitStack() as stack:
        pids = list(_workers(stack))
        gpus = driver / "gpus.txt"
        held = (",".join(map(str, pids[gpu::GPUS])) for gpu in range(GPUS))
        gpus.write_text("".join(f"util=80 pids={each}\n" for each in held), encoding="ascii")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), "FAKE_NVML": str(gpus)}
        argv = [sys.executable, "-m", __name__, str(hours), str(reports), *map(str, pids)]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    files_kb = sum(path.stat().st_size for path in reports.rglob("*") if path.is_file()) // 1024
    return LongRun(**json.loads(done.stdout), files_kb=files_kb)


def _workers(stack: ExitStack) -> Iterator[int]:
    for rank in range(WORKERS):
        environment = {**os.environ, "RANK": str(rank), "CUDA_VISIBLE_DEVICES": str(rank % GPUS)}
        worker = stack.enter_context(subprocess.Popen([sys.executable, "-c", _WORKER], env=environment))
        stack.callback(worker.kill)
        yield worker.pid


class _FastClock(AgentClock):
    """A clock that jumps over each wait, and times what the agent does between two of them."""

    def __init__(self, hours: float) -> None:
        self._now_s = self._started_s = time.time()
        self._until_s = self._now_s + hours * 3600
        self._resumed_s = time.perf_counter()
        self.rounds_s: list[float] = []
        self.half_private_kb = 0

    def now(self) -> float:
        return self._now_s

    def wait(self, seconds: float) -> Wake:
        self.rounds_s.append(time.perf_counter() - self._resumed_s)
        self._now_s += seconds
        if not self.half_private_kb and self._now_s > self._started_s + (self._until_s - self._started_s) / 2:
            self.half_private_kb = memory(os.getpid()).private
        self._resumed_s = time.perf_counter()
        return Wake.DUE if self._now_s < self._until_s else Wake.TERMINATE


def _main(hours: str, folder: str, *pids: str) -> None:
    clock = _FastClock(float(hours))
    Agent(AgentOptions(folder, pids=tuple(map(int, pids)), node="n1"), clock).run()
    first = clock.rounds_s.pop(0)  # from its start to its first wait
    last = memory(os.getpid())
    rounds = [round(each, 5) for each in (*clock.rounds_s, first)]
    memory_kb = {"pss_kb": last.pss, "half_private_kb": clock.half_private_kb, "private_kb": last.private}
    print(json.dumps({"rounds_s": rounds, **memory_kb}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
