"""Runs of programs on a GPU, with an agent and `nvidia-smi` beside them."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from benchmarks.gpu_parts.programs import START_DRIVER
from benchmarks.load_parts.processes import cpu, memory
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.telemetry.model import Gpu, Sample
from jobmon_core.store.telemetry import TaskTelemetry

_NODE, _INTERVAL_S, _SETTLING_S = "n1", 2.0, 5.0
_QUERY = "timestamp,utilization.gpu,memory.used,power.draw,temperature.gpu"
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Use:
    """The mean use of a GPU over some seconds."""

    utilization_percent: float
    memory_mib: float
    power_w: float
    temperature_c: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an agent and `nvidia-smi` say of the same seconds."""

    agent: Use
    smi: Use
    is_own: bool  # whether the agent names the program as the only process of the task on the GPU
    others: int  # processes of other tasks that it counts
    tensor_percent: float | None  # None: the GPU does not tell


@dataclass(frozen=True, slots=True)
class Cost:
    """What an agent costs a program and its machine."""

    ratios: list[float]  # time of a step beside an agent, compared with that of the run before
    cores: float  # CPU seconds of the agent for each second
    pss_kb: int
    driver_kb: int  # of that, what NVIDIA's library takes in any process that starts it


def compare(code: str, seconds: float, folder: Path) -> Comparison:
    """Compare an agent with `nvidia-smi` over ``seconds`` of a program."""
    with _program(code) as (program, _):
        return _compare(program.pid, seconds, folder)


def compare_shared(code: str, other: str, seconds: float, folder: Path) -> Comparison:
    """Do the same for a program that shares the GPU with ``other``."""
    with _program(other):
        return compare(code, seconds, folder)


def measure_cost(code: str, seconds: float, pairs: int, folder: Path) -> Cost:
    """Run a program alone and beside an agent, alternately; it prints a line with each step."""
    ratios, spent_s, pss_kb = [], 0.0, 0
    for pair in range(pairs):
        with _program(code) as (_, output):
            alone_s = _step_s(output, seconds)
        with _program(code) as (program, output), _agent(program.pid, folder / str(pair)) as agent:
            _step_s(output, _SETTLING_S)
            before = cpu(agent.pid)
            ratios.append(_step_s(output, seconds) / alone_s)
            spent_s += cpu(agent.pid).since(before).own_s
            pss_kb = max(pss_kb, memory(agent.pid).pss)
    return Cost(ratios, spent_s / (pairs * seconds), pss_kb, _driver_kb())


def _driver_kb() -> int:
    done = subprocess.run([sys.executable, "-c", START_DRIVER], capture_output=True, text=True, check=True)
    before_kb, after_kb = map(int, done.stdout.split())
    return after_kb - before_kb


def _compare(pid: int, seconds: float, folder: Path) -> Comparison:
    with _agent(pid, folder), (folder / "smi.csv").open("w") as output, _nvidia_smi(output):
        time.sleep(_SETTLING_S)
        begin_s = time.time()
        gpus = [gpu for sample in _samples(folder, begin_s, seconds) for gpu in sample.gpus]
    tensor = [gpu.tensor_percent for gpu in gpus if gpu.tensor_percent is not None]
    return Comparison(
        _use_of(gpus),
        _use_by_smi(folder / "smi.csv", begin_s),
        is_own={gpu.own_pids for gpu in gpus} == {(pid,)},
        others=max(gpu.other_processes or 0 for gpu in gpus),
        tensor_percent=_mean(tensor) if tensor else None,
    )


def _samples(folder: Path, begin_s: float, seconds: float) -> Collection[Sample]:
    """Return the samples that an agent reports of the ``seconds`` after ``begin_s``."""
    found = {}
    while time.time() < begin_s + seconds:
        time.sleep(_INTERVAL_S / 4)
        latest = TaskTelemetry(folder).report(_NODE).latest
        if latest.at_s - latest.span_s >= begin_s:
            found[latest.at_s] = latest
    if not found:
        raise SystemExit(f"the agent reports no GPU: {TaskTelemetry(folder).report(_NODE).unavailable}")
    return found.values()


def _use_of(gpus: Sequence[Gpu]) -> Use:
    return Use(
        _mean([gpu.utilization_percent for gpu in gpus]),
        _mean([gpu.memory for gpu in gpus]) / _MIB,
        _mean([gpu.power_w for gpu in gpus]),
        _mean([gpu.temperature_c for gpu in gpus]),
    )


def _use_by_smi(path: Path, begin_s: float) -> Use:
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(_QUERY.split(","))]
    figures = [list(map(float, row[1:])) for row in rows if _time_s(row[0]) >= begin_s]
    return Use(*(_mean(column) for column in zip(*figures, strict=True)))


def _time_s(text: str) -> float:
    return datetime.strptime(text, "%Y/%m/%d %H:%M:%S.%f").astimezone().timestamp()


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)


def _step_s(output: IO[str], seconds: float) -> float:
    """Return how long a step takes, from the lines that a program prints within ``seconds``."""
    begin_s = now_s = time.monotonic()
    steps = 0
    while now_s < begin_s + seconds:
        if not output.readline():
            raise SystemExit("the program on the GPU has ended")
        steps, now_s = steps + 1, time.monotonic()
    return (now_s - begin_s) / steps


@contextmanager
def _program(code: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0"}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            if (output := program.stdout) is None or output.readline() != "begins\n":
                raise SystemExit("the program on the GPU did not begin")
            yield program, output
        finally:
            program.kill()


@contextmanager
def _agent(pid: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    folder.mkdir(parents=True)
    options = AgentOptions(str(folder), pids=(pid,), node=_NODE, interval_s=_INTERVAL_S)
    with subprocess.Popen([sys.executable, *agent_command(options)]) as agent:
        try:
            yield agent
        finally:
            agent.terminate()


@contextmanager
def _nvidia_smi(output: IO[str]) -> Iterator[None]:
    argv = ["nvidia-smi", "-i", "0", f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits", "-lms", "170"]
    with subprocess.Popen(argv, stdout=output) as smi:
        try:
            yield
        finally:
            smi.terminate()
