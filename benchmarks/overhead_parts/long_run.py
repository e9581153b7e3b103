"""An agent that watches many workers and GPUs for hours, by a clock that does not wait."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

WORKERS, GPUS = 32, 8
_DRIVER = Path(__file__).parents[2] / "tests" / "support" / "fake_nvml.c"
_WORKER = "import signal; signal.pause()"


@dataclass(frozen=True, slots=True)
class Level:
    """The memory of an agent at one moment, in KiB."""

    hours: float  # since its start
    private: int  # without the pages that other processes share
    pss: int


@dataclass(frozen=True, slots=True)
class LongRun:
    """What an agent took."""

    rounds_s: list[float]  # of a look, or of a look and a report
    levels: list[Level]  # of its memory, in order
    files_kb: int = 0  # what it wrote

    @property
    def growth(self) -> float:
        """How far its private memory rose in the second half of the time, as a share of that at half-time."""
        half = next(each for each in self.levels if each.hours >= self.levels[-1].hours / 2)
        return max(each.private for each in self.levels if each.hours >= half.hours) / half.private - 1


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
        program = (sys.executable, "-m", "benchmarks.overhead_parts.fast_agent")
        argv = [*program, str(hours), str(reports), *map(str, pids)]
        done = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    files_kb = sum(path.stat().st_size for path in reports.rglob("*") if path.is_file()) // 1024
    return _long_run(done.stdout.splitlines(), files_kb)


def _long_run(lines: Iterable[str], files_kb: int) -> LongRun:
    rounds_s, levels = [], []
    for each in map(json.loads, lines):
        if "round_s" in each:
            rounds_s.append(each["round_s"])
        else:
            levels.append(Level(**each))
    return LongRun(rounds_s, levels, files_kb)


def _workers(stack: ExitStack) -> Iterator[int]:
    for rank in range(WORKERS):
        environment = {**os.environ, "RANK": str(rank), "CUDA_VISIBLE_DEVICES": str(rank % GPUS)}
        worker = stack.enter_context(subprocess.Popen([sys.executable, "-c", _WORKER], env=environment))
        stack.callback(worker.kill)
        yield worker.pid
